import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ItemKind, TimelineItem } from '@halting/analysis/view'
import { hasFailed } from './lanes.ts'
import { kindNames } from './item-words.ts'

/** A legend of the colours of these items. */
export function Legend({ items }: { readonly items: readonly TimelineItem[] }): JSX.Element {
  const { kinds, wrong } = useMemo(
    () => ({
      kinds: new Set(items.map(({ kind }) => kind)),
      wrong: items.reduce((sum, item) => sum + (hasFailed(item) ? 1 : 0), 0),
    }),
    [items],
  )
  // The type of this table guarantees that it has all kinds.
  const all = Object.keys(kindNames) as ItemKind[]
  return (
    <span class="legend">
      {all
        .filter((kind) => kinds.has(kind))
        .map((kind) => (
          <span key={kind}>
            <Swatch kind={kind} />
            {kindNames[kind]}
          </span>
        ))}
      {wrong > 0 ? (
        <span>
          <span class="swatch wrong" aria-hidden="true">
            ×
          </span>
          failed: {wrong}
        </span>
      ) : null}
    </span>
  )
}

/** The colour of a kind. */
export function Swatch({ kind }: { readonly kind: ItemKind }): JSX.Element {
  return <span class="swatch" aria-hidden="true" style={{ background: `var(--kind-${kind})` }} />
}
