// Holds rules of docs/spec: R-TEXT-1 to R-TEXT-6, in a real terminal.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { here, installProgram, programPath } from './support/program.ts'

installProgram()

const path = (relative: string): string => fileURLToPath(new URL(`../../../${relative}`, import.meta.url))
const hasTmux = spawnSync('tmux', ['-V']).status === 0

/** Times differ in each run, and so may line breaks after them. */
function comparable(guide: string): string {
  return (
    guide
      .replaceAll(/(?<=\S)\n(?=\S)/g, ' ')
      .replaceAll(/retry \d+\/(\d+) (in \d+ s|now)/g, 'retry N/$1')
      .replaceAll(/ \(\d+ s\)/g, '')
      // Sessions have different IDs, which a narrow terminal breaks.
      .replaceAll(/(?<=--res ?ume )(?:[-0-9a-f] ?){36}/g, 'ID ')
      // Estimated with the name of the system in the system prompt.
      .replaceAll(/(?<=compact.*)\b\d+\.\dk\b/g, 'Nk')
      .replaceAll(/\b\d+:\d\d\b/g, '0:00')
      .replaceAll(/\b\d+(\.\d)? m?s\b/g, 'N s')
  )
}

test.skipIf(!hasTmux)(
  'docs/guide/terminal.md shows what tmux shows (needs tmux): success, denial, server down, 429, limit, Ctrl-C, file, --quiet',
  () => {
    const recorded = join(here(), 'terminal.md')
    const args = [path('scripts/record-terminal.mjs'), '--program', programPath(), '--out', recorded]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(comparable(readFileSync(recorded, 'utf8'))).toBe(
      comparable(readFileSync(path('docs/guide/terminal.md'), 'utf8')),
    )
  },
  240_000,
)
