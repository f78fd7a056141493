// Commands agree about a session, and the commands that they suggest work (spec R-SESS-2, R-WHY-10, R-REW-5, R-SESS-7a).
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'
import { call, here, installProgram, run, script } from './support/program.ts'

installProgram()

const [cut, limited, asked] = [
  'aaaaaaaa-0000-4000-8000-00000000000a',
  'bbbbbbbb-0000-4000-8000-00000000000b',
  'cccccccc-0000-4000-8000-00000000000c',
]

interface SessionOutput {
  readonly num_turns: number
  readonly total_cost_usd: number
  readonly ended: string
  readonly goOn: { readonly says: string; readonly command?: string }
  readonly runs: readonly [
    {
      readonly totals: { readonly turns: number; readonly costUsd: number }
      readonly ending: {
        readonly signal: { readonly context: { readonly pending: readonly [{ readonly id: string }] } }
      }
    },
  ]
}

/** The output of one of them with --json. */
async function outputOf(...args: readonly string[]): Promise<SessionOutput> {
  // True: the program wrote it; tests compare the fields that they read.
  return JSON.parse((await run([...args, '--json'])).stdout) as SessionOutput
}

describe('a run that was killed after its second request', () => {
  const killed = async (): Promise<void> => {
    rmSync(sessionPath(cut), { force: true })
    await storeSession(cut, [toolReply(['Read', { file_path: 'a' }]), toolReply(['Edit', { file_path: 'a' }])], {
      maxTurns: 2,
    })
    const lines = readFileSync(sessionPath(cut), 'utf8').split('\n')
    const end = lines.findIndex((line) => line.includes('"type":"end"'))
    writeFileSync(sessionPath(cut), `${lines.slice(0, end).join('\n')}\n`)
  }

  test('has the same turns and cost in all commands', async () => {
    await killed()
    const { runs, goOn: nextStep } = await outputOf('why', cut)
    expect(nextStep).toEqual({ says: 'Continue with:', command: `halting -p --resume ${cut}` })
    const { num_turns: turns, total_cost_usd: costUsd, ended } = await outputOf('sessions', 'show', cut)
    expect([turns, costUsd, ended]).toEqual([runs[0].totals.turns, runs[0].totals.costUsd, 'open'])
    expect([turns, costUsd]).toEqual([2, 2.2])
  })

  test("contains the user's message, although it cannot be rewound yet", async () => {
    await killed()
    const list = await run(['rewind', cut])
    expect([list.status, list.stdout]).toEqual([0, '   1  go\n'])
    const back = await run(['rewind', cut, '1', '--yes'])
    expect([back.status, back.stderr]).toEqual([2, expect.stringContaining('did not end')])
  })
})

describe('the command that why suggests', () => {
  test('is missing for a session that --resume would not find, or find elsewhere', async () => {
    await storeSession(limited, [toolReply(['Read', { file_path: 'a' }]), textReply('never')], { maxTurns: 1 })
    const copy = join(here(), 'elsewhere.jsonl')
    copyFileSync(sessionPath(limited), copy)
    const kept = await outputOf('why', limited)
    const elsewhere = await outputOf('why', copy)
    expect([kept.goOn.command, elsewhere.goOn.command]).toEqual([
      `halting -p --resume ${limited} --max-turns 2`,
      undefined,
    ])
    expect(elsewhere.goOn.says).toContain('--resume does not find this file')
    expect((await run(['why', copy])).stdout).toContain('--resume does not find this file')
  })

  test('is missing after a rewind, since that needs a prompt', async () => {
    expect((await run(['rewind', limited, '1', '--yes'])).status).toBe(0)
    const { goOn: nextStep } = await outputOf('why', limited)
    expect(nextStep).toEqual({
      says: 'Its conversation was rewound. Continue it with --resume and a prompt.',
    })
  })

  test('resumes after pending calls were answered, and also defers later calls', async () => {
    const replies = [{ content: [call('Bash', { command: 'touch one' })] }]
    const flags = ['--session-id', asked, '--on-ask', 'defer']
    const first = await run(['-p', 'touch it', '--script', script(replies), ...flags])
    const resume = `halting -p --resume ${asked} --on-ask defer`
    expect(first.stderr).toContain(`  ${resume}\n`)
    const { goOn: before, runs } = await outputOf('why', asked)
    const id = runs[0].ending.signal.context.pending[0].id
    // The run has ended, so nothing is pending in it.
    expect((await run(['why', asked])).stdout).toContain('    1 call, 1 without a result, 0 ms')
    expect(before.command).toBe(`halting approve ${asked} ${id}`)
    expect((await run(['approve', asked, id])).stdout).toContain(`Resume: ${resume}\n`)
    const { goOn: after } = await outputOf('why', asked)
    expect(after).toEqual({ says: 'Its pending calls have been answered. Continue with:', command: resume })
  })
})

test('reports an extra word with the command that received it', async () => {
  const tell = async (...args: readonly string[]) => (await run(args)).stderr
  expect(await tell('why', cut, limited)).toBe('halting: halting why takes one session.\n')
  expect(await tell('replay', cut, limited)).toBe('halting: halting replay takes one session.\n')
  expect(await tell('undo', cut, limited)).toBe('halting: halting undo takes one session.\n')
  expect(await tell('sessions', 'list', 'more')).toBe(
    'halting: halting sessions list takes no argument. To find a text in sessions: halting sessions search TEXT\n',
  )
})

test('names the command if no session is given', async () => {
  const env = { HALTING_CONFIG_DIR: join(here(), 'nothing') }
  expect((await run(['replay'], { env })).stderr).toContain('halting replay FILE.')
  expect((await run(['why'], { env })).stderr).toContain('halting why FILE.')
})
