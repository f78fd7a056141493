// Holds R-EFRONT-1 and R-EFRONT-1a of docs/spec for the library: a program that answers for its agent is asked, or has commands denied, as before.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { scriptedModel } from '@halting/core/testing'
import { codingAgent, type CodingAgentOptions } from '@halting/agent'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allMeans } from '../../../policy/test/confine/support.ts'
import { temporaryFolder } from '../support/harness.ts'

const command = `perl -e 'for (".", $ENV{OUTSIDE}) { open F, ">", "$_/made" }'`

/** Changes of a command that no rule covers: in the session's folder, and outside. */
async function changes(options: Partial<CodingAgentOptions>): Promise<{ inside: boolean; outside: boolean }> {
  const [cwd, home] = [temporaryFolder(), temporaryFolder()]
  mkdirSync(join(home, '.halting'))
  const model = scriptedModel([{ toolCalls: [{ name: 'Bash', input: { command } }] }, { text: 'Done.' }])
  const env = { HOME: home, PATH: process.env['PATH'], OUTSIDE: home }
  const builder = await codingAgent({ cwd, env, model, permissionMode: 'acceptEdits', ...options })
  onTestFinished(() => builder.dispose())
  const engine = await builder.engine()
  for await (const message of engine.submit('go')) void message
  return { inside: existsSync(join(cwd, 'made')), outside: existsSync(join(home, 'made')) }
}

const canConfine = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

describe.skipIf(!canConfine)('codingAgent (needs bubblewrap)', () => {
  test('asks about commands in acceptEdits, so that nothing runs without an answer', async () => {
    expect(await changes({})).toEqual({ inside: false, outside: false })
    const asked: string[] = []
    const canUseTool: CodingAgentOptions['canUseTool'] = async (name) => {
      asked.push(name)
      return { behavior: 'allow' }
    }
    // Unconfined: a user, or a program on their behalf, agreed.
    expect(await changes({ canUseTool })).toEqual({ inside: true, outside: true })
    expect(asked).toEqual(['Bash'])
  })

  test('confines them if its settings say so, and asks nobody', async () => {
    const canUseTool: CodingAgentOptions['canUseTool'] = async () => ({ behavior: 'deny', message: 'No.' })
    const settings = { sandbox: { autoAllowBashIfSandboxed: true } }
    expect(await changes({ canUseTool, settings })).toEqual({ inside: true, outside: false })
    expect(await changes({ settings: { sandbox: {} } })).toEqual({ inside: false, outside: false })
  })
})
