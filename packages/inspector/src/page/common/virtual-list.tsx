import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import { useVirtualRows } from './virtual.ts'

interface VirtualListProps {
  /** Label of the list. */
  readonly label: string
  readonly count: number
  /** Height of a row, in `rem`. */
  readonly rowRem: number
  readonly row: (index: number) => ComponentChildren
  /** Index of the selected row; null for none. */
  readonly selected: number | null
  readonly onSelect: (index: number) => void
  /** Called for Enter and for a double click. */
  readonly onOpen?: (index: number) => void
}

/** A list with one selected row. It may have a hundred thousand rows, because only the visible ones are in the document. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { label, count, rowRem, row, selected, onSelect, onOpen } = props
  const id = useId()
  const { scroller, from, to, rowHeight, fitting, reveal } = useVirtualRows(count, rowRem)
  useEffect(() => {
    if (selected !== null && selected < count) reveal(selected)
  }, [selected, reveal, count > 0])
  const move = (event: KeyboardEvent): void => {
    const target = targetOf(event.key, selected ?? -1, count, fitting)
    if (event.key === 'Enter' && selected !== null && onOpen !== undefined) onOpen(selected)
    else if (target === undefined) return
    else onSelect(target)
    event.preventDefault()
  }
  const rows: JSX.Element[] = []
  for (let index = from; index < to; index++)
    rows.push(
      <div
        key={index}
        id={`${id}-${index}`}
        role="option"
        class="virtual-row"
        aria-selected={index === selected}
        aria-setsize={count}
        aria-posinset={index + 1}
        style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
        onClick={() => onSelect(index)}
        onDblClick={() => onOpen?.(index)}
      >
        {row(index)}
      </div>,
    )
  return (
    <div
      ref={scroller}
      class="virtual-list"
      role="listbox"
      aria-label={label}
      aria-activedescendant={selected === null || selected < from || selected >= to ? undefined : `${id}-${selected}`}
      tabIndex={0}
      onKeyDown={move}
    >
      <div class="virtual-rows" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  )
}

function targetOf(key: string, selected: number, count: number, fitting: number): number | undefined {
  const within = (index: number): number | undefined =>
    count === 0 ? undefined : Math.min(count - 1, Math.max(0, index))
  switch (key) {
    case 'ArrowDown':
      return within(selected + 1)
    case 'ArrowUp':
      return within(selected - 1)
    case 'PageDown':
      return within(selected + fitting)
    case 'PageUp':
      return within(selected - fitting)
    case 'Home':
      return within(0)
    case 'End':
      return within(count - 1)
    default:
      return undefined
  }
}
