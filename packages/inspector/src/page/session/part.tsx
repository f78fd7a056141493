import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { many } from '@halting/analysis/words'
import type { CallPart, CheckPart, TranscriptPart } from '@halting/analysis/view'
import { LongText } from '../common/long-text.tsx'
import { shownText } from '../common/shown-text.ts'
import { callLine } from './part-words.ts'

interface PartProps {
  readonly part: TranscriptPart
  readonly number: number
  readonly count: number
  readonly isChosen: boolean
  readonly onChoose: () => void
}

/** One part of the transcript. A click selects it, also in the timeline. */
export function Part({ part, number, count, isChosen, onChoose }: PartProps): JSX.Element {
  return (
    <article
      class={`part ${part.kind}`}
      data-part={number}
      aria-posinset={number + 1}
      aria-setsize={count}
      aria-current={isChosen ? 'true' : undefined}
      tabIndex={-1}
      onClick={onChoose}
    >
      <Content part={part} isOpen={isChosen} />
    </article>
  )
}

function Content({ part, isOpen }: { readonly part: TranscriptPart; readonly isOpen: boolean }): JSX.Element {
  switch (part.kind) {
    case 'person':
      return (
        <>
          <h3>{shownText(part.by, 80)}</h3>
          <LongText text={part.text} />
        </>
      )
    case 'answer':
      return (
        <>
          <h3>answer</h3>
          <LongText text={part.text} />
        </>
      )
    case 'thinking':
      return (
        <Folded summary="thinking" isOpen={isOpen}>
          {() => <LongText text={part.text} />}
        </Folded>
      )
    case 'note':
      return part.more === undefined ? (
        <LongText text={part.text} />
      ) : (
        <Folded summary={shownText(part.text, 400)} isOpen={isOpen}>
          {() => <LongText text={part.more ?? ''} />}
        </Folded>
      )
    case 'check':
      return part.more === '' ? (
        <CheckLine part={part} />
      ) : (
        <Folded summary={<CheckLine part={part} />} isOpen={isOpen}>
          {() => <LongText text={part.more} isCode />}
        </Folded>
      )
    case 'call':
      return <Call part={part} isOpen={isOpen} />
  }
}

/** The result of a round of checks. */
function CheckLine({ part }: { readonly part: CheckPart }): JSX.Element {
  return <span class={part.status === 'met' ? 'good' : 'bad'}>{shownText(part.text, 400)}</span>
}

function Call({ part, isOpen }: { readonly part: CallPart; readonly isOpen: boolean }): JSX.Element {
  const { input, result, isError, changes, agent } = part
  const { name, input: shortInput, failure, facts } = callLine(part)
  const summary = (
    <>
      <b>{name}</b> <span class="soft">{shortInput}</span>{' '}
      {failure === '' ? null : <span class={failure === 'failed' ? 'bad' : 'warn'}>{failure}</span>}{' '}
      <span class="soft numbers">{facts}</span>
    </>
  )
  return (
    <Folded summary={summary} isOpen={isOpen}>
      {() => (
        <>
          <h4>Input</h4>
          <LongText text={input} isCode />
          {changes.length === 0 ? null : <Changes lines={changes} />}
          {result === null ? null : (
            <>
              <h4 class={isError ? 'bad' : undefined}>{isError ? 'Error' : 'Result'}</h4>
              <LongText text={result} isCode />
            </>
          )}
          {agent.length === 0 ? null : <Agent parts={agent} />}
        </>
      )}
    </Folded>
  )
}

/** The transcript of a subagent: folded, and shown in pieces. */
function Agent({ parts }: { readonly parts: readonly TranscriptPart[] }): JSX.Element {
  const [shown, setShown] = useState(40)
  return (
    <Folded summary={`Work of the subagent: ${many(parts.length, 'part')}`} isOpen={false}>
      {() => (
        <div class="agent">
          {parts.slice(0, shown).map((part, index) => (
            // The parts of a record do not change their order.
            <div key={index} class={`part ${part.kind}`}>
              <Content part={part} isOpen={false} />
            </div>
          ))}
          {shown < parts.length ? (
            <button type="button" onClick={() => setShown(shown + 40)}>
              {many(parts.length - shown, 'more part')}
            </button>
          ) : null}
        </div>
      )}
    </Folded>
  )
}

interface FoldedProps {
  readonly summary: JSX.Element | string
  /** Unfolds the part when the value becomes true; the person may fold it again. */
  readonly isOpen: boolean
  readonly children: () => JSX.Element
}

/** The content is rendered when it is unfolded for the first time. */
function Folded({ summary, isOpen, children }: FoldedProps): JSX.Element {
  const [isUnfolded, setUnfolded] = useState(isOpen)
  const [wasOpen, setWasOpen] = useState(isOpen)
  if (wasOpen !== isOpen) {
    setWasOpen(isOpen)
    if (isOpen) setUnfolded(true)
  }
  return (
    <details open={isUnfolded} onToggle={({ currentTarget }) => setUnfolded(currentTarget.open)}>
      <summary>{summary}</summary>
      {isUnfolded ? children() : null}
    </details>
  )
}

const atFirst = 200

/** Lines of a patch: added and removed lines have colours in addition to their signs. */
function Changes({ lines }: { readonly lines: readonly string[] }): JSX.Element {
  const [most, setMost] = useState(atFirst)
  return (
    <>
      <h4>Changes</h4>
      <pre class="changes">
        {lines.slice(0, most).map((line, index) => (
          <span key={index} class={kindOf(line)}>
            {shownText(line, 2_000)}
          </span>
        ))}
      </pre>
      {lines.length > most ? (
        <button type="button" onClick={() => setMost(most + 1_000)}>
          {many(lines.length - most, 'more line')}
        </button>
      ) : null}
    </>
  )
}

function kindOf(line: string): string | undefined {
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'add'
  return line.startsWith('-') ? 'cut' : undefined
}
