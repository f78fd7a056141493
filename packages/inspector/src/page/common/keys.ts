import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** A key that does something wherever the focus is, but for fields that take text. */
export interface KeyBinding {
  /** As `KeyboardEvent.key` says them: `j`, `ArrowDown`, `?`. */
  readonly keys: readonly string[]
  /** For the help: `Next item`. */
  readonly does: string
  /** Where another view than this one takes the key too, the later one has it. */
  readonly run: (event: KeyboardEvent) => void
}

const bound = signal<readonly (readonly KeyBinding[])[]>([])

/** All that is bound now, for the help; the newest first. */
export const bindings: ReadonlySignal<readonly (readonly KeyBinding[])[]> = bound

/** Binds keys as long as the component is shown. */
export function useKeys(keys: readonly KeyBinding[]): void {
  const latest = useRef(keys)
  latest.current = keys
  const names = keys.map(({ keys: each, does }) => `${each.join(' ')} ${does}`).join('\n')
  useEffect(() => {
    // What runs is looked up when the key is pressed: the component may have been drawn again since.
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

/** Listens from now on. */
export function followKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return
    // What is behind a dialog is not meant.
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
