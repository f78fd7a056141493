// Access rights, on a real node whose requests to workers are signed, with a worker that requires the token of the cluster (R-CLU-16). Run by scripts/cluster.mjs:
// access.mjs SERVER FOLDER
import { deepStrictEqual, ok, strictEqual } from 'node:assert'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { createSession } from '@halting/core/session'
import type { AnyTool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { proofHeader, proofHeaders } from '../../src/access/proof.ts'
import { createClusterClient } from '../../src/client/cluster-client.ts'
import { gatedModel, ProviderGate } from '../../src/fleet/gated-model.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { publicKeyOf } from '../support/public-key.ts'
import { Cluster, wait } from './server.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const token = 'a-token-that-nobody-guesses-0123456789'
const pem = join(folder, 'identity.pem')
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
writeFileSync(pem, privateKey.export({ type: 'pkcs8', format: 'pem' }))
process.env['RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE'] = pem
const cluster = await Cluster.start(program, folder, 1)
const ingress = { url: cluster.ingress(), token }

const look: AnyTool = {
  name: 'Look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  readOnly: false,
  execute: () => 'seen',
}
const logged: string[] = []
const worker = await startWorker({
  host: '127.0.0.1',
  port: 0,
  admin: cluster.admin(),
  identityKeys: [publicKeyOf(publicKey)],
  tokens: ['the-token-that-comes-next-0123456789', token],
  ingress,
  onEvent: (event) => logged.push(JSON.stringify(event)),
  open: async ({ sessionId, journal }) =>
    createSession({
      options: {
        model: gatedModel(
          scriptedModel(({ messages }) =>
            messages.at(-1)?.role === 'user' && messages.filter(({ role }) => role === 'assistant').length % 2 === 0
              ? { text: 'I look.', toolCalls: [{ name: 'Look', id: `l${messages.length}` }] }
              : 'done',
          ),
          new ProviderGate(ingress, 'key'),
          sessionId,
        ),
        tools: [look],
        prices: { cost: () => 0.001, worstCase: () => 0.001 },
        sessionId,
        permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May I?' }) },
      },
      journal,
      answersQuestions: true,
      permissions: { mode: 'default' },
      cwd: '/',
      end: async () => {},
    }),
})
await cluster.register(worker.url)

async function ask(path: string, body = '', headers: { readonly [name: string]: string } = {}): Promise<number> {
  const response = await fetch(`${cluster.ingress()}/${path}`, {
    method: 'POST',
    headers: { ...(body !== '' && { 'content-type': 'application/json' }), ...headers },
    ...(body !== '' && { body }),
  })
  const text = await response.text()
  ok(!text.includes(token), text)
  return response.status
}

const attempts: string[] = []
async function check(title: string, body: () => Promise<void>): Promise<void> {
  await body()
  attempts.push(title)
}

interface Handler {
  readonly name: string
  readonly public: boolean
}

/** All handlers that the engine knows. */
async function handlersOf(): Promise<readonly { readonly path: string; readonly isPublic: boolean }[]> {
  const response = await fetch(`${cluster.admin()}/services`)
  // The admin API answers so.
  const { services } = (await response.json()) as {
    readonly services: readonly { name: string; ty: string; public: boolean; handlers: readonly Handler[] }[]
  }
  return services.flatMap((service) =>
    service.handlers.map((handler) => ({
      path: `${service.name}/${service.ty === 'Service' ? '' : 'a%20key/'}${handler.name}`,
      isPublic: service.public && handler.public,
    })),
  )
}

const client = createClusterClient({ ingress: cluster.ingress(), token })
const all = await handlersOf()

await check('no handler answers without proof, and the inner ones not even with it', async () => {
  const inner = all.filter(({ isPublic }) => !isPublic).map(({ path }) => path.replace('/a%20key', ''))
  deepStrictEqual(inner.toSorted(), [
    'halting_budget/close',
    'halting_budget/isHeld',
    'halting_budget/release',
    'halting_gate/enter',
    'halting_gate/passTime',
    'halting_gate/tick',
    ...['adopt', 'begin', 'forget', 'listen', 'push', 'settle', 'status', 'waiting', 'wake'].map(
      (name) => `halting_mailbox/${name}`,
    ),
    'halting_session/adopt',
    'halting_session/work',
  ])
  for (const { path, isPublic } of all) {
    const body = /release|forget|remove|done|passTime|wake|work$/.test(path) ? '' : '{"id":"x"}'
    for (const headers of [
      {},
      { authorization: `Bearer ${token}` },
      proofHeaders('a-token-that-is-not-the-one-0123456789', path, body),
      proofHeaders(token, path, `${body} `),
      proofHeaders(token, path.replace('a%20key', 'another'), body.replace('id', 'ID')),
    ]) {
      const status = await ask(path, body, headers)
      ok(status >= 400 && status < 500, `${path} ${JSON.stringify(headers)}: ${status}`)
      if (isPublic) ok([400, 401, 403].includes(status), `${path}: ${status}`)
    }
    if (!isPublic) ok((await ask(path, body, proofHeaders(token, path, body))) >= 400, path)
  }
  const status = await client.status('a key')
  deepStrictEqual([status.records, status.waiting, status.isClosed], [0, 0, false])
})

await check('with it all of it works: a tenant’s session at a gate, its question, its result, its fork', async () => {
  for (const [path, body] of [
    ['halting_budget/acme/setLimit', '5'],
    ['halting_gate/key/setLimits', '{"requests":1}'],
  ] as const)
    strictEqual(await ask(path, body, proofHeaders(token, path, body)), 200)
  const session = client.session('mine', { tenant: 'acme' })
  session.prompt('look', { id: 'p' })
  for (let left = 400; (await client.status('mine')).questions.length === 0; left--) {
    ok(left > 0, `Nobody asked. ${logged.join('\n').slice(0, 2_000)}`)
    await wait(50)
  }
  strictEqual(await ask('halting_session/mine/approve', '{"callId":"l1"}'), 401)
  // What the engine stores of a waiting call.
  const waiting = client.result('mine', 'p', { wait: true })
  const storedState = async () =>
    JSON.stringify(
      await cluster.query(
        "select entry_json from sys_journal where id in (select id from sys_invocation where target = 'halting_session/mine/result')",
      ),
    )
  for (let left = 100; !(await storedState()).includes(proofHeader); left--) {
    ok(left > 0, await storedState())
    await wait(50)
  }
  ok(!(await storedState()).includes(token))
  const [question] = (await client.status('mine')).questions
  await client.request('mine', { type: 'answer', callId: question?.callId ?? '', answer: { behavior: 'allow' } })
  strictEqual((await waiting).state, 'answered')
  await session.close()
  const fork = await client.fork('mine')
  strictEqual((await client.records(fork)).length > 0, true)
})

await check('what is too large or too deep for the engine is refused, and its session goes on', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const calls = (value: string): readonly (readonly [string, string])[] => [
    ['request', `{"id":"d","request":{"type":"prompt","content":[{"type":"text","text":"x","more":${value}}]}}`],
    ['prompt', `{"content":"x","opening":{"more":${value}}}`],
    ['approve', `{"callId":"c","updatedInput":{"more":${value}}}`],
    ['setLimits', `{"limits":{"maxTurns":${value}}}`],
    ['resume', `{"limits":{"maxTurns":${value}}}`],
    ['result', `{"id":${value}}`],
    ['records', value],
    ['fork', `{"as":${value}}`],
  ]
  for (const [size, value] of [
    ['deep', deep],
    ['12 MiB', `"${'x'.repeat(12 << 20)}"`],
    ['quotes', `"${String.raw`\"`.repeat(9 << 20)}"`],
    ['40 MiB', `"${'x'.repeat(40 << 20)}"`],
  ] as const)
    for (const [handler, body] of calls(value)) {
      const path = `halting_session/attacked/${handler}`
      const status = await Promise.race([
        ask(path, body, proofHeaders(token, path, body)).catch(String),
        wait(15_000).then(() => 'no answer'),
      ])
      // The engine itself closes a connection that sends more than it accepts.
      const isCut = size === '40 MiB' && status === 'TypeError: fetch failed'
      ok(
        isCut || status === 400 || status === 413,
        `${size} ${handler}: ${status} ${logged.slice(-3).join(' ').slice(0, 300)}`,
      )
    }
  const path = 'halting_session/attacked/prompt'
  strictEqual(await ask(path, '{"content":"x"}', proofHeaders(token, path, '{"content":"x"}')), 200)
})

await check('the worker answers its engine alone', async () => {
  const connection = connect(worker.url)
  const statuses = await Promise.all(
    ['/discover', '/invoke/halting_session/work', '/invoke/halting_mailbox/push'].map(
      (path) =>
        new Promise<unknown>((resolve, reject) => {
          const request = connection.request({
            ':method': path === '/discover' ? 'GET' : 'POST',
            ':path': path,
            accept: 'application/vnd.restate.endpointmanifest.v3+json',
            'content-type': 'application/vnd.restate.invocation.v5',
            'x-restate-signature-scheme': 'v1',
            'x-restate-jwt-v1': 'e30.e30.e30',
          })
          request.on('response', (headers) => resolve(headers[':status']))
          request.on('error', reject)
          request.end()
        }),
    ),
  )
  connection.close()
  deepStrictEqual(statuses, [401, 401, 401])
})

ok(!logged.join('\n').includes(token))
console.log(attempts.join('; '))
await worker.close()
await cluster.stop()
process.exit(0)
