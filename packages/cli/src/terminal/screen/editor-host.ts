import type { TUI } from '@earendil-works/pi-tui/dist/tui.js'
import type { Screen } from './screen-port.ts'

/** What components of the library, such as its editor, take for their root: they ask it for a frame, and how many rows there are. */
export function editorHost(screen: Screen): TUI {
  const host = {
    requestRender: () => screen.requestFrame(),
    terminal: {
      get rows() {
        return screen.rows
      },
      get columns() {
        return screen.columns
      },
    },
  }
  // `Editor` and `CancellableLoader` use nothing else of the class: it is a root of its own, which would write to the terminal beside the screen.
  return host as unknown as TUI
}
