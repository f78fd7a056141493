import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** A key that works everywhere except in text fields. */
export interface KeyBinding {
  /** Names as in `KeyboardEvent.key`: `j`, `ArrowDown`, `?`. */
  readonly keys: readonly string[]
  /** Description for the help: `Next item`. */
  readonly description: string
  /** If several views bind the same key, the last one wins. */
  readonly run: (event: KeyboardEvent) => void
}

const bound = signal<readonly (readonly KeyBinding[])[]>([])

/** All current bindings, for the help; the newest first. */
export const bindings: ReadonlySignal<readonly (readonly KeyBinding[])[]> = bound

/** Binds keys while the component is mounted. */
export function useKeys(keys: readonly KeyBinding[]): void {
  const latest = useRef(keys)
  latest.current = keys
  const names = keys.map(({ keys: each, description }) => `${each.join(' ')} ${description}`).join('\n')
  useEffect(() => {
    // The handler is looked up when the key is pressed, because the component may have been rendered again.
    const own = latest.current.map((binding, index): KeyBinding => ({
      ...binding,
      run: (event) => latest.current[index]?.run(event),
    }))
    bound.value = [own, ...bound.value]
    return () => {
      bound.value = bound.value.filter((each) => each !== own)
    }
  }, [names])
}

/** Starts to listen for keys. */
export function followKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return
    // A dialog is modal: keys do not reach the page behind it.
    if (document.querySelector('dialog[open]') !== null) return
    if (event.key !== 'Escape' && takesText(event.target)) return
    const found = bound.value.flat().find(({ keys }) => keys.includes(event.key))
    if (found === undefined) return
    event.preventDefault()
    found.run(event)
  })
}

const fieldsWithoutText = new Set(['checkbox', 'radio', 'button', 'range', 'submit', 'reset'])

function takesText(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !fieldsWithoutText.has(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}
