import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { counted, visible } from '@halting/analysis/words'

const atFirst = 4_000
const more = 100_000

interface LongTextProps {
  readonly text: string
  /** Whether to use a monospaced font. */
  readonly isCode?: boolean
}

/** Untrusted text: every character is visible and inert. A long text is shown in pieces, on request. */
export function LongText({ text, isCode = false }: LongTextProps): JSX.Element {
  const [most, setMost] = useState(atFirst)
  const visibleText = visible(text.slice(0, most))
  return (
    <>
      {isCode ? (
        <pre dir="auto">{visibleText}</pre>
      ) : (
        <p class="text" dir="auto">
          {visibleText}
        </p>
      )}
      {text.length > most ? (
        <button type="button" onClick={() => setMost(most + more)}>
          {counted(text.length - most)} more characters
        </button>
      ) : null}
    </>
  )
}
