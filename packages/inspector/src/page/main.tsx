import { render } from 'preact'
import { App } from './app.tsx'
import { followKeys } from './common/keys.ts'
import { followTheme } from './common/theme.ts'
import { ErrorNote } from './common/notes.tsx'
import { exportedSource } from './data/exported-source.ts'
import { httpSource } from './data/http-source.ts'
import { followRoute } from './data/route.ts'
import { messageOf, openStore } from './data/store.ts'

const place = document.querySelector('#app')
if (place !== null) {
  followTheme()
  followRoute()
  followKeys()
  try {
    openStore(exportedSource(document) ?? (await httpSource()))
    render(<App />, place)
  } catch (error) {
    render(<ErrorNote>{messageOf(error)}</ErrorNote>, place)
  }
}
