import type { Component } from '../screen/screen-port.ts'

/** Lists and questions that replace the editor temporarily: one at a time, in the order of opening. */
export interface Overlays {
  /** Undefined while the editor is shown. */
  readonly current: Component | undefined
  /** Resolves with the value it was closed with. Further calls of `close` do nothing. */
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
