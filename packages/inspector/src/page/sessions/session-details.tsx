import type { JSX } from 'preact'
import { counted, many, visible } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { columns, sessionAddress, titleOf } from './columns.tsx'
import { markedKeys, toggleMark } from './list-state.ts'
import type { Outlier } from './outliers.ts'

interface SessionDetailsProps {
  readonly row: SessionRow
  readonly why: readonly Outlier[]
}

/** Explains which runs are copies. */
function copiedText({ runs, copiedRuns }: SessionRow): string {
  const [are, they] = copiedRuns === 1 ? ['is a copy', 'It counts'] : ['are copies', 'They count']
  return `${counted(copiedRuns)} of ${many(runs, 'run')} ${are} from another session. ${they} there, and not in these figures.`
}

/** Details of the selected session, including those that do not fit into the table. */
export function SessionDetails({ row, why }: SessionDetailsProps): JSX.Element {
  const isMarked = markedKeys.value.includes(row.key)
  return (
    <aside class="session-details" aria-label="Selected session">
      <h2>
        <a href={sessionAddress(row)}>{titleOf(row)}</a>
      </h2>
      {row.problem === undefined ? null : <p class="note bad">It could not be read: {visible(row.problem)}</p>}
      {row.copiedRuns === 0 ? null : <p class="note soft">{copiedText(row)}</p>}
      {why.map(({ rule, why: text }) => (
        <p key={`${rule} ${text}`} class="note warn">
          {text}
        </p>
      ))}
      <dl>
        {columns
          .filter(({ name }) => name !== 'title')
          .map(({ name, title, text, cell }) => (
            <div key={name}>
              <dt class="soft">{title}</dt>
              <dd>{cell?.(row) ?? text(row)}</dd>
            </div>
          ))}
        <div>
          <dt class="soft">Id</dt>
          <dd>{visible(row.sessionId)}</dd>
        </div>
        {row.path === null ? null : (
          <div>
            <dt class="soft">File</dt>
            <dd>{visible(row.path)}</dd>
          </div>
        )}
        {row.unpriced.length === 0 ? null : (
          <div>
            <dt class="soft">No price known</dt>
            <dd>{visible(row.unpriced.join(', '))}</dd>
          </div>
        )}
      </dl>
      <button type="button" aria-pressed={isMarked} onClick={() => toggleMark(row.key)}>
        {isMarked ? 'Marked for comparison' : 'Mark for comparison'}
      </button>
    </aside>
  )
}
