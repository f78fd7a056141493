// Holds R-WALL-2 of docs/spec for commands that are confined to the workspace: they have the same results as
// unconfined, except for what the tables list, with the reason.
import { afterAll, describe, expect, test } from 'vitest'
import { isWhole } from '../support/deep.ts'
import { canConfineEdits } from './edit-session.ts'
import { type Compared, complaintAbout, missingPrograms, Place } from './equality/compare.ts'
import { gitZoo } from './equality/git-zoo.ts'
import { goProject } from './equality/go-project.ts'
import { nodeProject } from './equality/node-project.ts'
import type { Project } from './equality/project.ts'
import { pythonProject } from './equality/python-project.ts'

const projects = [nodeProject, pythonProject, goProject, gitZoo]
const only = process.env['HALTING_PROJECT']
const places: Place[] = []
afterAll(() => places.forEach((place) => place.remove()))

/** Those of the smaller check need only git. */
function rowsFor({ rows }: Project): Project['rows'] {
  const text = process.env['HALTING_ROWS'] ?? ''
  return rows.filter(({ command, quick }) => (isWhole || quick === true) && command.includes(text))
}

function report(name: string, all: readonly Compared[]): string {
  const asked = all.filter(({ held }) => held.decision === 'ask').length
  const differing = all.filter(({ row }) => row.differs !== undefined)
  const reasons = new Map<string, number>()
  for (const { row } of differing) reasons.set(row.differs ?? '', (reasons.get(row.differs ?? '') ?? 0) + 1)
  const slowest = Math.max(0, ...all.filter(({ row }) => row.reaches === true).map(({ held }) => held.ms))
  const why = [...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ')
  const network = slowest > 0 ? `; the slowest that wants a network ended after ${Math.round(slowest)} ms` : ''
  return `${name}: ${all.length - asked - differing.length} the same, ${differing.length} differ (${why}), ${asked} ask${network}`
}

describe.skipIf(!canConfineEdits)('Confined to the workspace (needs bubblewrap)', () => {
  for (const project of projects) {
    const rows = rowsFor(project)
    const missing = missingPrograms(project)
    const isLeftOut = rows.length === 0 || missing.length > 0 || (only !== undefined && only !== project.name)
    test.skipIf(isLeftOut)(
      `${rows.length} commands of ${project.name} come out the same${missing.length > 0 ? ` (needs ${missing.join(', ')})` : ''}`,
      async () => {
        const place = new Place(project, isWhole)
        places.push(place)
        const all: Compared[] = []
        for (const row of rows) all.push(await place.compare(row))
        console.log(report(project.name, all))
        expect(all.flatMap((each) => complaintAbout(each) ?? []).join('\n\n')).toBe('')
      },
      1_200_000,
    )
  }
})
