import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { counted, many, jsonText } from '@halting/analysis/words'
import type { TimelineItem } from '@halting/analysis/view'
import { LongText } from '../common/long-text.tsx'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { messageOf, source } from '../data/store.ts'

const pageSize = 20

interface RecordsProps {
  readonly sessionKey: string
  /** Index of the run, from 0. */
  readonly run: number
  /** Number of records of the run. */
  readonly count: number
  /** The item whose records are shown; undefined for the whole run. */
  readonly item: TimelineItem | undefined
}

/** Records as in the file, in pieces. */
export function Records({ sessionKey, run, count, item }: RecordsProps): JSX.Element {
  const first = item?.firstRecord ?? 0
  const last = item?.lastRecord ?? count - 1
  const [from, setFrom] = useState(first)
  const [read, setRead] = useState<readonly unknown[] | string>()
  useEffect(() => setFrom(first), [first, last])
  useEffect(() => {
    let isWanted = true
    const show = (value: readonly unknown[] | string): void => {
      if (isWanted) setRead(value)
    }
    source()
      .records(sessionKey, run, from, Math.min(pageSize, last - from + 1))
      .then(show, (error: unknown) => show(messageOf(error)))
    return () => {
      isWanted = false
    }
  }, [sessionKey, run, from, last])
  const hasPages = last - first + 1 > pageSize
  return (
    <div class="records">
      <p class="soft">
        {item === undefined ? 'Records of the run' : 'Records of the item'}: {many(last - first + 1, 'record')}, from
        number {counted(first)}.
      </p>
      {hasPages ? (
        <p>
          <button type="button" disabled={from <= first} onClick={() => setFrom(Math.max(first, from - pageSize))}>
            Previous
          </button>{' '}
          <button type="button" disabled={from + pageSize > last} onClick={() => setFrom(from + pageSize)}>
            Next
          </button>{' '}
          <label>
            From{' '}
            <input
              type="number"
              min={first}
              max={last}
              value={from}
              onChange={({ currentTarget }) =>
                setFrom(Math.max(first, Math.min(last, Math.trunc(Number(currentTarget.value)) || first)))
              }
            />
          </label>
        </p>
      ) : null}
      {read === undefined ? <Busy>Reading …</Busy> : null}
      {typeof read === 'string' ? <ErrorNote>{read}</ErrorNote> : null}
      {Array.isArray(read)
        ? read.map((record, index) => (
            <section key={from + index} aria-label={`Record ${from + index}`}>
              <h4>{from + index}</h4>
              <LongText text={jsonText(record)} isCode />
            </section>
          ))
        : null}
    </div>
  )
}
