import type { Component } from '../screen/screen-port.ts'

/** What stands in the place of the editor for a while: lists, questions. One at a time, in the order in which they came. */
export interface Overlays {
  /** Undefined: the editor is there. */
  readonly current: Component | undefined
  /** Resolves with what it was closed with. `close` may be called again: then nothing happens. */
  open<T>(make: (close: (value: T) => void) => Component): Promise<T>
}

export function createOverlays(changed: () => void): Overlays {
  const open: Component[] = []
  return {
    get current() {
      return open[0]
    },
    open<T>(make: (close: (value: T) => void) => Component): Promise<T> {
      return new Promise((resolve) => {
        const component: Component = make((value) => {
          const at = open.indexOf(component)
          if (at < 0) return
          open.splice(at, 1)
          resolve(value)
          changed()
        })
        open.push(component)
        changed()
      })
    },
  }
}
