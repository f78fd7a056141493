import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { many } from '@halting/analysis/words'
import type { TranscriptPart } from '@halting/analysis/view'
import { shownText } from '../common/shown-text.ts'
import { messageOf, source } from '../data/store.ts'

interface SearchProps {
  readonly sessionKey: string
  /** Index of the run, from 0. */
  readonly run: number
  /** Number of parts of the transcript. */
  readonly count: number
  readonly words: string
  readonly onWords: (words: string) => void
  /** Number of items that match. */
  readonly found: number
  readonly onPart: (part: number) => void
}

interface Hit {
  readonly part: number
  readonly excerpt: string
}

interface TranscriptSearch {
  readonly hits: readonly Hit[]
  readonly searched: number
  readonly state: 'searching' | 'done' | 'stopped'
  readonly problem?: string
}

const pageSize = 200
const maxHits = 200

/** Filters the items while typing, and searches the transcript when Enter is pressed. */
export function Search(props: SearchProps): JSX.Element {
  const { sessionKey, run, count, words, onWords, found, onPart } = props
  const [result, setResult] = useState<TranscriptSearch>()
  const searching = useRef<AbortController | null>(null)
  const stop = (): void => searching.current?.abort()
  useEffect(() => stop, [sessionKey, run])
  const begin = (): void => {
    stop()
    if (words.trim() === '') return
    const own = new AbortController()
    searching.current = own
    void searchTranscript({ sessionKey, run, count, words }, own.signal, setResult)
  }
  return (
    <search class="session-search">
      <label>
        <span class="hidden-text">Search in the session</span>
        <input
          type="search"
          id="session-search"
          placeholder="Search; Enter: in the transcript"
          value={words}
          onInput={({ currentTarget }) => {
            stop()
            setResult(undefined)
            onWords(currentTarget.value)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') begin()
            else if (event.key === 'Escape') {
              stop()
              setResult(undefined)
              onWords('')
              event.currentTarget.blur()
            } else return
            event.preventDefault()
          }}
        />
      </label>
      {words === '' ? null : <span role="status">{many(found, 'item')}</span>}
      {result === undefined ? null : <Hits result={result} count={count} onPart={onPart} onStop={stop} />}
    </search>
  )
}

interface HitsProps {
  readonly result: TranscriptSearch
  readonly count: number
  readonly onPart: (part: number) => void
  readonly onStop: () => void
}

function Hits({ result: { hits, searched, state, problem }, count, onPart, onStop }: HitsProps): JSX.Element {
  const all = state === 'searching' ? `, ${searched} of ${many(count, 'part')} searched` : ''
  const more = hits.length >= maxHits ? ' (more are not shown)' : ''
  return (
    <div class="hits">
      <p role="status">
        {problem ?? `Found in ${many(hits.length, 'part')}${more}${all}`}{' '}
        {state === 'searching' ? (
          <button type="button" onClick={onStop}>
            Stop
          </button>
        ) : null}
      </p>
      <ul>
        {hits.map(({ part, excerpt }) => (
          <li key={part}>
            <button type="button" onClick={() => onPart(part)}>
              {shownText(excerpt, 200)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

async function searchTranscript(
  { sessionKey, run, count, words }: Pick<SearchProps, 'sessionKey' | 'run' | 'count' | 'words'>,
  signal: AbortSignal,
  report: (result: TranscriptSearch) => void,
): Promise<void> {
  const query = words.trim().toLowerCase()
  const hits: Hit[] = []
  let searched = 0
  const end = (state: TranscriptSearch['state'], problem?: string): void =>
    report({ hits: [...hits], searched, state, ...(problem !== undefined && { problem }) })
  end('searching')
  try {
    while (searched < count && hits.length < maxHits) {
      const parts = await source().parts(sessionKey, run, searched, pageSize)
      if (signal.aborted) return end('stopped')
      for (const [index, part] of parts.entries()) {
        const excerpt = excerptOf(part, query)
        if (excerpt !== undefined && hits.length < maxHits) hits.push({ part: searched + index, excerpt })
      }
      searched += pageSize
      end('searching')
      if (parts.length < pageSize) break
    }
    end('done')
  } catch (error) {
    if (!signal.aborted) end('stopped', messageOf(error))
  }
}

/** The text around the words; undefined when the part does not contain them. */
function excerptOf(part: TranscriptPart, asked: string): string | undefined {
  for (const text of textsOf(part)) {
    const place = text.toLowerCase().indexOf(asked)
    if (place >= 0) return text.slice(Math.max(0, place - 40), place + 120).replaceAll(/\s+/g, ' ')
  }
  return undefined
}

function textsOf(part: TranscriptPart): readonly string[] {
  if (part.kind === 'note' || part.kind === 'check') return [part.text, part.more ?? '']
  if (part.kind !== 'call') return [part.text]
  return [part.name, part.input, part.result ?? '', ...part.agent.flatMap(textsOf)]
}
