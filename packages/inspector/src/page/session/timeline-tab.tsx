import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { RunView } from '@halting/analysis/view'
import { useKeys } from '../common/keys.ts'
import { Tabs } from '../common/tabs.tsx'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { Ending } from './ending.tsx'
import { exitCodeOf } from './ending-figures.ts'
import { ItemList, pictureOfItems } from './item-list.tsx'
import { Records } from './records.tsx'
import { Search } from './search.tsx'
import { itemOfPart, matchingItems, partOf, placeIn } from './selection.ts'
import { Timeline } from './timeline.tsx'
import { choose, timelineModel, toggleAgent, type TimelineModel } from './timeline-model.ts'
import { Transcript } from './transcript.tsx'

const panes = [
  { id: 'transcript', label: 'Transcript' },
  { id: 'records', label: 'Records' },
] as const

type Pane = (typeof panes)[number]['id']

interface TimelineTabProps {
  readonly sessionKey: string
  /** Index of the run, from 0. */
  readonly index: number
  readonly run: RunView
  /** Whether this is only the beginning of the session. */
  readonly isBeginning: boolean
}

/** One run: its timeline, items, transcript and records. The selection is shared by all of them. */
export function TimelineTab({ sessionKey, index, run, isBeginning }: TimelineTabProps): JSX.Element {
  const selected = useSignal<number | null>(null)
  const before = useRef<TimelineModel | undefined>(undefined)
  const model = useMemo(() => timelineModel({ items: run.items, selected }, before.current), [run])
  before.current = model
  const [words, setWords] = useState('')
  const [pane, setPane] = useState<Pane>('transcript')
  const [foundPart, setFoundPart] = useState<number | null>(null)
  const ids = useMemo(() => matchingItems(run.items, words), [run, words])
  const chosen = selected.value
  // A part found by the search may have no item.
  useEffect(() => {
    if (chosen !== null) setFoundPart(null)
  }, [chosen])
  const part = foundPart ?? (chosen === null ? null : partOf(run.items, chosen))
  const choosePart = (number: number): void => {
    const item = itemOfPart(run.items, number)
    if (item === undefined) setFoundPart(number)
    else choose(model, item)
  }
  const open = (): void => {
    document.querySelector<HTMLElement>('.beside .transcript, .beside .records')?.focus()
  }
  useTimelineKeys({ model, ids, open, onPane: () => setPane(pane === 'records' ? 'transcript' : 'records') })
  return (
    <>
      <Timeline model={model} exitCode={exitCodeOf(run)} onOpen={open} />
      <div class="beside">
        <div class="items">
          <Search
            sessionKey={sessionKey}
            run={index}
            count={run.parts}
            words={words}
            onWords={setWords}
            found={ids.length}
            onPart={(number) => {
              choosePart(number)
              setPane('transcript')
            }}
          />
          <ItemList model={model} ids={ids} onOpen={open} />
          <PictureButtons
            name="items"
            pictureOf={() =>
              pictureOfItems({ items: run.items, ids, chosen: chosen === null ? -1 : placeIn(ids, chosen), words })
            }
          />
        </div>
        <Details
          {...{ sessionKey, index, run, pane, part }}
          item={chosen === null ? undefined : run.items[chosen]}
          onPane={setPane}
          onPart={choosePart}
        />
      </div>
      {isBeginning ? null : <Ending run={run} />}
    </>
  )
}

interface DetailsProps extends Omit<TimelineTabProps, 'isBeginning'> {
  readonly pane: Pane
  /** The part of the transcript that is selected. */
  readonly part: number | null
  readonly item: RunView['items'][number] | undefined
  readonly onPane: (pane: Pane) => void
  readonly onPart: (part: number) => void
}

/** The transcript or the records around the selected item. */
function Details({ sessionKey, index, run, pane, part, item, onPane, onPart }: DetailsProps): JSX.Element {
  const common = { sessionKey, run: index }
  return (
    <Tabs label="About the selected item" tabs={panes} shown={pane} onShow={onPane}>
      {pane === 'transcript' ? (
        <Transcript {...common} count={run.parts} version={run} chosen={part} onChoose={onPart} />
      ) : (
        <Records {...common} count={run.records} item={item} />
      )}
    </Tabs>
  )
}

interface TimelineKeys {
  readonly model: TimelineModel
  readonly ids: Int32Array
  readonly open: () => void
  readonly onPane: () => void
}

function useTimelineKeys({ model, ids, open, onPane }: TimelineKeys): void {
  const { selected, items } = model
  const step = (by: 1 | -1): void => {
    const at = selected.value
    const place = at === null ? (by > 0 ? 0 : ids.length - 1) : nextPlace(ids, at, by)
    const id = ids[Math.max(0, Math.min(ids.length - 1, place))]
    if (id !== undefined) choose(model, id)
  }
  useKeys([
    { keys: ['j', 'ArrowDown'], description: 'Next item', run: () => step(1) },
    { keys: ['k', 'ArrowUp'], description: 'Previous item', run: () => step(-1) },
    { keys: ['Enter'], description: 'Go to the item in the transcript', run: open },
    { keys: ['Escape'], description: 'Clear the selection', run: () => (selected.value = null) },
    { keys: ['r'], description: 'Switch between records and transcript', run: onPane },
    {
      keys: ['f'],
      description: 'Fold or unfold the subagent of the item',
      run: () => {
        const scope = items[selected.value ?? -1]?.scope ?? ''
        if (scope !== '') toggleAgent(model, scope)
      },
    },
    {
      keys: ['/'],
      description: 'Search in the session',
      run: () => document.querySelector<HTMLElement>('#session-search')?.focus(),
    },
  ])
}

/** The next index; an item that is not in the list counts as between two others. */
function nextPlace(ids: Int32Array, at: number, by: 1 | -1): number {
  const place = placeIn(ids, at)
  return by > 0 && ids[place] !== at ? place : place + by
}
