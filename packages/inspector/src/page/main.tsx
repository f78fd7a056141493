import { render } from 'preact'
import { App } from './app.tsx'
import { followRoute } from './data/route.ts'

followRoute()
const place = document.querySelector('#app')
if (place !== null) render(<App />, place)
