// The soak test itself: it finds what is left behind, sessions that did not end as expected, and growing memory.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { sessionFile } from '@halting/journal'
import { temporaryFolder } from './support/harness.ts'

const soak = fileURLToPath(new URL('../../../scripts/soak', import.meta.url))

interface Session {
  readonly id: string
  readonly cwd: string
  readonly home: string
  readonly env: { readonly HOME: string }
}
type Scenario = object
interface Sessions {
  playSession(
    scenario: Scenario,
    place: object,
    isProgram: boolean,
  ): Promise<{ runs: number; problems: readonly string[] }>
  lookAt(scenario: Scenario, session: Session): Promise<{ runs: number; problems: readonly string[] }>
}
interface Verdict {
  readonly memoryProblems: (rounds: readonly { readonly heldMb: number; readonly rssMb: number }[]) => readonly string[]
}
// The scripts are JavaScript: their types are declared here.
const sessions = (await import(`${soak}/sessions.mjs`)) as Sessions
const { memoryProblems } = (await import(`${soak}/verdict.mjs`)) as Verdict

test.runIf(process.platform === 'linux')('finds what is left behind, and nothing else', () => {
  const stdout = execFileSync(process.execPath, [join(soak, 'find-plants.mjs'), temporaryFolder()], {
    encoding: 'utf8',
  })
  const found = JSON.parse(stdout) as { readonly [plant: string]: readonly string[] }
  const one = (text: string): unknown => expect.arrayContaining([expect.stringContaining(text)])
  expect(found).toEqual({
    nothing: [],
    process: one('a process is left: '),
    socket: one('open descriptors are left: socket'),
    timer: one('the event loop is kept busy: Timeout'),
    file: ['a temporary file is left: halting-sandbox-0'],
    lock: [expect.stringMatching(/^a file that is not finished is left: .*session\.jsonl\.lock$/)],
    listener: one('a listener of the process is left: SIGUSR2'),
    object: ['an object is held'],
  })
})

describe('a session', () => {
  const says = (content: string): object => ({ content })

  async function played(
    scenario: object,
  ): Promise<{ readonly problems: readonly string[]; readonly session: Session }> {
    const folder = temporaryFolder()
    const template = join(folder, 'template')
    mkdirSync(join(template, 'plain'), { recursive: true })
    const kept: WeakRef<object>[] = []
    const { problems } = await sessions.playSession(
      { name: 'one', ...scenario },
      {
        folder,
        template,
        mark: 'test',
        web: 'http://127.0.0.1:9',
        kept,
        sessionId: '7d6ff6b4-7f7c-4b30-9f3c-6c8a4b0d5a11',
      },
      false,
    )
    const home = join(folder, 'home')
    const session = {
      id: '7d6ff6b4-7f7c-4b30-9f3c-6c8a4b0d5a11',
      cwd: join(folder, 'project'),
      home,
      env: { HOME: home },
    }
    return { problems, session }
  }

  test('that does its work has no problems', async () => {
    expect((await played({ replies: [says('Done.')], ends: ['completed'], shows: ['Done.'] })).problems).toEqual([])
  })

  test('that ends differently, or shows no sign of its purpose, has failed', async () => {
    const { problems } = await played({ replies: [says('Done.')], ends: ['max_turns'], shows: ['nothing of it'] })
    expect(problems).toEqual([expect.stringMatching(/^a run ended as completed/), 'nowhere: nothing of it'])
  })

  test('whose file lost its end, or one byte, has failed', async () => {
    const scenario = { replies: [says('Done.')], ends: ['completed'] }
    const { session } = await played(scenario)
    const file = sessionFile({ ...session, sessionId: session.id })
    const whole = readFileSync(file)
    truncateSync(file, whole.lastIndexOf('\n', whole.length - 2) + 1)
    expect((await sessions.lookAt(scenario, session)).problems).toContain('a run has no end')
    writeFileSync(file, whole)
    truncateSync(file, whole.length - 1)
    expect((await sessions.lookAt(scenario, session)).problems.join()).toMatch(/bytes of a line that is not whole/)
  })
})

describe('memory', () => {
  const rounds = (heldMb: (round: number) => number) =>
    Array.from({ length: 14 }, (_, round) => ({ heldMb: heldMb(round), rssMb: 200 }))

  test('that fills in the first rounds, and fluctuates, is flat', () => {
    expect(memoryProblems(rounds((round) => 30 + Math.min(round, 2) * 5 + (round % 3)))).toEqual([])
  })

  test('that grows by a megabyte per round is not', () => {
    expect(memoryProblems(rounds((round) => 30 + round))).toEqual([
      expect.stringMatching(/^memory is not flat: heldMb/),
    ])
  })
})
