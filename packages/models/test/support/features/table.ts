import { columns } from './columns.ts'
import type { Cell, Row } from './service.ts'

/** The table of services for people, in Markdown: the results of the tests, and why a cell has no test. */
export function tableOf(rows: readonly Row[]): string {
  const reasons: string[] = []
  const cellText = (cell: Cell): string => {
    if (cell === 'aimock') return '✓'
    if (cell === 'own') return '✓ *'
    if (!reasons.includes(cell.no)) reasons.push(cell.no)
    return `– ${reasons.indexOf(cell.no) + 1}`
  }
  const lines = rows.map((row) => {
    const name = row.package === undefined ? row.title : `${row.title} (\`${row.package}\`)`
    return [name, ...columns.map((column) => cellText(row.cells[column]))]
  })
  const head = ['service', ...columns]
  const table = [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  return `${table}\n\n${reasons.map((reason, index) => `${index + 1}: ${reason}.`).join(' ')}`
}
