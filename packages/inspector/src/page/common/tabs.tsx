import type { ComponentChildren, JSX } from 'preact'

/** One tab of several. */
export interface Tab<Id extends string> {
  readonly id: Id
  readonly label: string
  /** The key that selects it. */
  readonly hint?: string
}

interface TabsProps<Id extends string> {
  /** Label of the group. */
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly shown: Id
  readonly onShow: (id: Id) => void
  /** Content of the selected tab. */
  readonly children: ComponentChildren
}

/** Tabs with their pane. Arrow keys move between them. */
export function Tabs<Id extends string>({ label, tabs, shown, onShow, children }: TabsProps<Id>): JSX.Element {
  const name = label.toLowerCase().replaceAll(/\W+/g, '-')
  const step = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    const next = tabs[(tabs.findIndex(({ id }) => id === shown) + by + tabs.length) % tabs.length]
    if (next === undefined) return
    onShow(next.id)
    document.querySelector<HTMLElement>(`#tab-${name}-${next.id}`)?.focus()
  }
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={step}>
        {tabs.map(({ id, label: text, hint }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${name}-${id}`}
            aria-selected={id === shown}
            aria-controls={`pane-${name}`}
            aria-keyshortcuts={hint}
            tabIndex={id === shown ? 0 : -1}
            onClick={() => onShow(id)}
          >
            {text}
          </button>
        ))}
      </div>
      <div role="tabpanel" class="pane" id={`pane-${name}`} aria-labelledby={`tab-${name}-${shown}`}>
        {children}
      </div>
    </div>
  )
}
