// Spec R-HOST-17, R-HOST-18: a host drives a session of a cluster like a local one.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { runQuery, answerOf, removeFoldersAfterEach } from '../host/support/sdk.ts'
import { type ServedCluster, servedCluster } from '../support/cluster.ts'
import { endHosts, host, type Host, isResult, user } from '../support/host.ts'
import { call, installProgram, type Line } from '../support/program.ts'

installProgram()
endHosts()
removeFoldersAfterEach()

const clusters: ServedCluster[] = []
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close()
})

async function served(replies: readonly unknown[]): Promise<ServedCluster> {
  const made = await servedCluster(replies)
  clusters.push(made)
  return made
}

const id = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
const asks = ['--permission-prompt-tool', 'stdio', '--include-all-messages']
const touch = (name: string) => ({ content: [call('Bash', { command: `touch ${name}` })] })
const isQuestion = ({ type, request }: Line): boolean =>
  type === 'control_request' && (request as { readonly subtype?: string }).subtype === 'can_use_tool'
const isIdle = ({ state }: Line): boolean => state === 'idle'
const allow = ({ request_id: id, request }: Line): object => ({
  type: 'control_response',
  response: {
    subtype: 'success',
    request_id: id,
    response: { behavior: 'allow', updatedInput: (request as { readonly input: unknown }).input },
  },
})

/** The content of a line without times, IDs and paths. */
function said(line: Line): unknown {
  const { type, subtype, state, message, request, response, result, mode } = line
  const content = (message as { readonly content?: unknown } | undefined)?.content
  const { tool_name: tool, input } = (request ?? {}) as { readonly tool_name?: unknown; readonly input?: unknown }
  const answered = response as { readonly subtype?: string; readonly request_id?: string } | undefined
  const body =
    content === undefined ? undefined : JSON.stringify(content).replaceAll(/"toolu_[^"]*"|"call[^"]*"/g, '"id"')
  return JSON.parse(
    JSON.stringify({
      type,
      subtype,
      state,
      mode,
      body,
      tool,
      input,
      result,
      answered: answered?.subtype,
      reason: line['terminal_reason'],
    }),
  )
}

const replies = [touch('made'), { content: 'One.' }, { content: 'Two.' }, { content: 'Three.' }]

/** Questions, a mode change, several prompts and a status request. */
async function conversation(driven: Host): Promise<readonly Line[]> {
  await driven.ask('initialize')
  driven.send(user('first', { uuid: '11111111-1111-4111-8111-111111111111' }))
  driven.send(allow(await driven.next(isQuestion)))
  await driven.next(isIdle)
  expect((await driven.ask('set_permission_mode', { mode: 'acceptEdits' })).response).toEqual({ mode: 'acceptEdits' })
  await driven.say('second')
  await driven.next(isIdle)
  expect((await driven.ask('get_context_usage')).response).toMatchObject({ model: 'claude-sonnet-5-5' })
  expect((await driven.ask('set_model', { model: 'claude-haiku-4-5' })).response).toEqual({ model: 'claude-haiku-4-5' })
  await driven.say('third')
  await driven.next(isIdle)
  const { status, lines } = await driven.end()
  expect(status).toBe(0)
  return lines
}

test('emits the same lines for the same conversation locally and on a cluster', async () => {
  const here = await conversation(await host(replies, { args: [...asks, '--replay-user-messages'] }))
  const { url, base, cluster } = await served(replies)
  const there = await conversation(
    await host([], { args: [...asks, '--replay-user-messages', '--cluster', url, '--session-id', id] }),
  )
  // A message is emitted again once it is stored, which takes time on a disk.
  const isReplay = (line: Line): boolean => line['isReplay'] === true
  // State changes come directly from the worker, and may arrive after the records.
  const hasItsPlace = (line: Line): boolean => !isReplay(line) && line['subtype'] !== 'status'
  expect(there.filter(hasItsPlace).map(said)).toEqual(here.filter(hasItsPlace).map(said))
  expect(there.filter(isReplay).map(said)).toEqual(here.filter(isReplay).map(said))
  expect(existsSync(join(base, id, 'made'))).toBe(true)
  // It stays there.
  expect((await cluster.records(id)).length).toBeGreaterThan(0)
})

test('asks again after a worker is lost, but asks the host only once and repeats no message', async () => {
  const { url, cluster, base } = await served(replies)
  const driven = await host([], { args: [...asks, '--cluster', url, '--session-id', id] })
  driven.send(user('first'))
  const question = await driven.next(isQuestion)
  expect(cluster.kill(id)).toBe(true)
  driven.send(allow(question))
  expect(await driven.next(isResult)).toMatchObject({ subtype: 'success', result: 'One.' })
  const { status, lines } = await driven.end()
  expect(status).toBe(0)
  expect(lines.filter(isQuestion)).toHaveLength(1)
  expect(lines.filter(({ type, subtype }) => type === 'assistant' || subtype === 'init')).toHaveLength(3)
  expect(existsSync(join(base, id, 'made'))).toBe(true)
})

test('refuses by name what a cluster does not support', async () => {
  const { url } = await served(replies)
  const driven = await host([], { args: ['--cluster', url] })
  for (const subtype of ['mcp_set_servers', 'mcp_status', 'rewind_files', 'reload_skills']) {
    const { error } = await driven.ask(subtype, { user_message_id: 'x', servers: {} })
    expect(error).toContain(`${subtype} is not available with --cluster`)
  }
  await driven.end()
  const hooked = await host([], { args: ['--cluster', url] })
  const { error } = await hooked.ask('initialize', { hooks: { Stop: [{ hookCallbackIds: ['h'] }] } })
  expect(error).toContain('hooks cannot be used with --cluster')
  expect((await hooked.running.ended).status).toBe(2)
  const tooled = await host([], { args: ['--cluster', url, '--allowedTools', 'Bash'] })
  tooled.send(user('hi'))
  const ended = await tooled.running.ended
  expect([ended.status, ended.stderr]).toEqual([2, expect.stringContaining('--allowedTools cannot be combined with')])
})

test.each(['stdin ends', 'SIGTERM'])(
  '%s: leaves a session with a pending question, which waits on the cluster',
  async (how) => {
    const { url, cluster } = await served(replies)
    const driven = await host([], { args: [...asks, '--cluster', url, '--session-id', id] })
    driven.send(user('first'))
    await driven.next(isQuestion)
    if (how === 'SIGTERM') driven.running.child.kill('SIGTERM')
    const { status, stderr } = await (how === 'SIGTERM' ? driven.running.ended : driven.end())
    expect(status).toBe(how === 'SIGTERM' ? 143 : 0)
    const back = `The run continues on the cluster. Resume: halting --cluster ${url} --resume ${id}`
    expect(stderr.toLowerCase().includes(back.toLowerCase())).toBe(how === 'SIGTERM')
    const requests = cluster.requests.map(({ request }) => request.type)
    expect(requests).toEqual(['prompt'])
    // Another client continues it.
    const later = await host([], { args: [...asks, '--cluster', url, '--resume', id] })
    void later.ask('initialize')
    later.send(allow(await later.next(isQuestion)))
    expect(await later.next(isResult)).toMatchObject({ result: 'One.' })
    expect((await later.end()).status).toBe(0)
  },
)

test('reports queued messages on interrupt, and ends the run on the cluster', async () => {
  const { url } = await served(replies)
  const driven = await host([], { args: [...asks, '--cluster', url] })
  driven.send(user('first'))
  await driven.next(isQuestion)
  driven.send(user('waits', { uuid: '11111111-1111-4111-8111-111111111111', priority: 'later' }))
  const { response } = await driven.ask('interrupt', { cancel_queued: true })
  expect(response).toMatchObject({ cancelled: ['11111111-1111-4111-8111-111111111111'] })
  expect(await driven.next(isResult)).toMatchObject({ terminal_reason: 'aborted_tools' })
  await driven.end()
})

test('works with the official SDK, unchanged', async () => {
  const { url } = await served(replies)
  const seen: string[] = []
  const talked = await runQuery('first', [], {
    options: {
      extraArgs: { cluster: url },
      canUseTool: async (name, input) => {
        seen.push(name)
        return { behavior: 'allow', updatedInput: input }
      },
    },
  })
  expect([seen, answerOf(talked), talked.thrown]).toEqual([['Bash'], 'One.', undefined])
  expect(talked.stderr).toContain('the system prompt of the worker applies')
})
