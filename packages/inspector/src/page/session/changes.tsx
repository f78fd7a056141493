import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { many } from '@halting/analysis/words'
import { shownText } from '../common/shown-text.ts'

const atFirst = 200

/** Lines of a patch: what came and what went have colours, and their signs. */
export function Changes({ lines }: { readonly lines: readonly string[] }): JSX.Element {
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
