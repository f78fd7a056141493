// Holds rules of docs/spec: R-WORK-9, R-WORK-9a, R-WORK-10, R-WORK-11: tenants, gates and buckets of a worker, and the output of `halting cluster budget`.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GateLimits, IngressOptions, ProviderGateOptions } from '@halting/restate'
import { ModelError, type Model } from '@halting/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { flagOf } from '../../src/flags/session-ports.ts'
import { Gates, gateLimits, gateName } from '../../src/cluster/gates.ts'
import { bucketOptions, payloadStores } from '../../src/cluster/payloads.ts'
import { tenantOfOpening } from '../../src/cluster/serve.ts'
import { openModels } from '@halting/agent/session-settings'
import { installProgram, run, runHere } from '../support/program.ts'

installProgram()

test('charges a session to the tenant of its worker, or to another one that the worker allows', () => {
  expect(tenantOfOpening({}, {})).toBeUndefined()
  expect(tenantOfOpening({ tenant: 'acme' }, {})).toBe('acme')
  expect(tenantOfOpening({ tenant: 'acme' }, { tenant: 'acme' })).toBe('acme')
  expect(tenantOfOpening({ tenant: 'acme', allowedTenants: ['b'] }, { tenant: 'b' })).toBe('b')
  for (const [flags, opening, said] of [
    [{}, { tenant: 'acme' }, 'cannot use the tenant acme'],
    [{ tenant: 'acme' }, { tenant: 'b' }, 'cannot use the tenant b'],
    [{ tenant: 'acme', allowedTenants: ['b'] }, { tenant: '__proto__' }, 'cannot use the tenant __proto__'],
    [{ allowedTenants: ['b'] }, {}, 'must name a tenant'],
    [{ tenant: 'acme' }, { tenant: '' }, 'must be a string'],
    [{ tenant: 'acme' }, { tenant: null }, 'must be a string'],
    [{ tenant: 'acme' }, { tenant: ['acme'] }, 'must be a string'],
  ] as const)
    expect(() => tenantOfOpening(flags, opening)).toThrow(said)
})

test('uses one gate per key on all workers, with a name that reveals nothing about the key', () => {
  const account = { service: 'anthropic', secret: 'sk-ant-very-secret' }
  expect(gateName(account)).toBe(gateName({ ...account }))
  expect(gateName(account)).toMatch(/^anthropic-[\da-f]{16}$/)
  expect(gateName({ ...account, secret: 'another' })).not.toBe(gateName(account))
  expect(gateLimits({})).toBeUndefined()
  expect(gateLimits({ tokensPerMinute: 5 })).toEqual({ requests: null, requestsPerMinute: null, tokensPerMinute: 5 })
})

test('puts each model of a session behind the gate of its key, under any of its names', async () => {
  const put: string[] = []
  const env = { ANTHROPIC_API_KEY: 'first', OPENAI_API_KEY: 'second' }
  const flags = { model: 'sonnet', fallbackModel: 'openai/gpt-4o', smallModel: 'haiku', compactModel: 'haiku' }
  const settings = { choices: flags, env, settings: {}, warnings: [] } as unknown as Parameters<typeof openModels>[0]
  const models = await openModels(settings, { cwd: '/', nameOf: flagOf }, (model, { service, secret }) => {
    put.push(`${service} ${secret}`)
    return { ...model, id: `gated ${model.id}` }
  })
  const { model, fallbackModel, compactModel, smallModel } = models
  for (const each of [model, fallbackModel, compactModel, smallModel, models.modelNamed('opus')])
    expect(each?.id).toMatch(/^gated /)
  expect(put).toEqual(['anthropic first', 'openai second', 'anthropic first', 'anthropic first', 'anthropic first'])
})

test('refuses a request that does not pass its gate with a message of this program', async () => {
  const made: { readonly name: string; readonly options: ProviderGateOptions | undefined }[] = []
  class Gate {
    readonly name: string
    constructor(_ingress: IngressOptions, name: string, options?: ProviderGateOptions) {
      this.name = name
      made.push({ name, options })
    }
  }
  const limits: GateLimits = { requests: 2, requestsPerMinute: null, tokensPerMinute: null }
  const makers = {
    ProviderGate: Gate,
    gatedModel: (model: Model, _gate: unknown, session: string, neverSent: (init: never) => Error) => ({
      ...model,
      id: session,
      call: () => Promise.reject(neverSent({ kind: 'connection', message: 'no', retryable: true } as never)),
    }),
  } as unknown as ConstructorParameters<typeof Gates>[0]
  const gates = new Gates(makers, { url: 'http://engine' }, limits)
  const account = { service: 'a', secret: 'b' }
  const model = { id: 'm', contextWindow: 1, maxOutputTokens: 1 } as unknown as Model
  const through = gates.throughGate(model, account, 's1')
  gates.throughGate(model, account, 's2')
  expect(made).toEqual([{ name: gateName(account), options: { limits, isOneProcessASession: true } }])
  await expect(through.call({} as never, {} as never)).rejects.toBeInstanceOf(ModelError)
})

const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' }

test("configures a bucket like Amazon's tools", () => {
  const basics = { accessKeyId: 'id', secretAccessKey: 'secret' }
  expect(bucketOptions('s3://large/halting/', { ...keys, AWS_REGION: 'eu-west-1' })).toEqual({
    ...basics,
    bucketUrl: 'https://large.s3.eu-west-1.amazonaws.com',
    region: 'eu-west-1',
    prefix: 'halting/',
  })
  expect(
    bucketOptions('s3://large.things', { ...keys, AWS_DEFAULT_REGION: 'eu-west-1', AWS_SESSION_TOKEN: 't' }),
  ).toEqual({
    ...basics,
    bucketUrl: 'https://s3.eu-west-1.amazonaws.com/large.things',
    region: 'eu-west-1',
    sessionToken: 't',
  })
  expect(bucketOptions('s3://large/a/b', { ...keys, AWS_ENDPOINT_URL: 'http://127.0.0.1:9000/' })).toEqual({
    ...basics,
    bucketUrl: 'http://127.0.0.1:9000/large',
    region: 'us-east-1',
    prefix: 'a/b/',
  })
})

test('refuses an invalid payload store before the worker starts', () => {
  for (const place of ['s3://', 's3://A', 's3://large/../other', 's3://large/a?x=1', 's3://large//a', 's3://large/a b'])
    expect(() => bucketOptions(place, keys)).toThrow('--payloads takes s3://BUCKET')
  expect(() => bucketOptions('s3://large', { AWS_ACCESS_KEY_ID: 'id' })).toThrow('AWS_SECRET_ACCESS_KEY')
  expect(() => bucketOptions('s3://large', { ...keys, AWS_ENDPOINT_URL: 'minio:9000' })).toThrow('AWS_ENDPOINT_URL')
  expect(() => payloadStores('gs://large', { cwd: '/', env: keys }, {} as never)).toThrow('a folder or s3://')
})

/** The answer of a tenant's object. */
const asked: { readonly path: string; readonly body: unknown }[] = []
let status: { readonly [field: string]: unknown } = {}
let server: Server | undefined
let url = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      asked.push({ path: request.url ?? '', body: text === '' ? undefined : JSON.parse(text) })
      const leases = [{ session: 's-1', leasedUsd: 0.75, settledUsd: 0.25 }]
      const isSetting = request.url?.endsWith('/setLimit') === true
      response.writeHead(200, { 'content-type': 'application/json' })
      const lists = { holders: leases, waiters: [{ session: 's-7', wantedUsd: 0.1636, leastUsd: 0.05 }] }
      const [list] = Object.entries(lists).flatMap(([name, each]) =>
        request.url?.endsWith(`/${name}`) === true ? [each] : [],
      )
      response.end(isSetting ? '' : JSON.stringify(list ?? status))
    })
  })
  await new Promise<void>((listens) => server?.listen(0, '127.0.0.1', listens))
  // True: it listens on a port, so its address has one.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server?.close())

test("lists sessions that wait for a tenant's budget, in order", async () => {
  status = {
    limitUsd: 5,
    settledUsd: 4.25,
    unknownUsd: 0,
    reservedUsd: 0.5,
    leasedUsd: 4.75,
    leftUsd: 0.25,
    holders: 2,
    waiting: 1,
  }
  const { stdout } = await run(['cluster', 'budget', 'acme', '--cluster', url])
  expect(stdout.split('\n').slice(-3)).toEqual([
    '  waiting   1 session, served in this order',
    '  s-7  waits for $0.1636',
    '',
  ])
  asked.length = 0
})

test('shows and sets the budget of a tenant', async () => {
  status = {
    limitUsd: 20,
    settledUsd: 4.25,
    unknownUsd: 0.01,
    reservedUsd: 0.5,
    leasedUsd: 4.75,
    leftUsd: 15.25,
    holders: 1,
  }
  const { status: code, stdout } = await runHere([
    'cluster',
    'budget',
    'a & b',
    '--max-budget-usd',
    '20',
    '--cluster',
    url,
  ])
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: [
      'a & b: $20.00 total',
      '  settled   $4.25, including $0.0100 at worst case',
      '  reserved  $0.5000, by 1 running session',
      '  left      $15.25',
      '  s-1  $0.5000 reserved, $0.2500 settled',
      '',
    ].join('\n'),
  })
  expect(asked).toEqual([
    { path: '/halting_budget/a%20%26%20b/setLimit', body: 20 },
    { path: '/halting_budget/a%20%26%20b/status', body: undefined },
    { path: '/halting_budget/a%20%26%20b/holders', body: undefined },
  ])
  const { stdout: json } = await runHere(['cluster', 'budget', '__proto__', '--cluster', url, '--json'])
  expect(JSON.parse(json)).toEqual({
    tenant: '__proto__',
    ...status,
    leases: [{ session: 's-1', leasedUsd: 0.75, settledUsd: 0.25 }],
  })
})

test('says that a tenant is unknown', async () => {
  status = { limitUsd: null, settledUsd: 0, unknownUsd: 0, reservedUsd: 0, leasedUsd: 0, leftUsd: null, holders: 0 }
  const { status: code, stdout, stderr } = await runHere(['cluster', 'budget', 'acne', '--cluster', url])
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: 'acne: no limit\n  settled   $0.0000\n  reserved  $0.0000\n  left      no limit\n',
    stderr: expect.stringContaining('halting serve --tenant acne') as string,
  })
})

test('refuses invalid uses of cluster budget with advice', async () => {
  for (const [args, said] of [
    [['cluster', 'budget', '--cluster', url], 'Usage: halting cluster budget TENANT'],
    [['cluster', 'budget', 'a', 'b', '--cluster', url], 'Usage: halting cluster budget TENANT'],
    [['cluster', 'budget', 'acme'], 'needs the address of the cluster'],
    [['cluster', 'budget', 'acme', '--cluster', url, '--max-budget-usd', '-5'], '--max-budget-usd takes'],
    [['cluster', 'budget', 'acme', '--cluster', url, '--max-budget-usd', 'NaN'], '--max-budget-usd takes'],
    [['cluster', 'budget', 'acme', '--cluster', 'http://127.0.0.1:1'], 'does not answer'],
    [['cluster', 'dev', '--cluster', url], 'starts its own cluster'],
    [['-p', 'hi', '--tenant', 'acme'], '--tenant needs halting serve'],
    [['why', 's', '--requests-per-minute', '5'], '--requests-per-minute belongs to halting serve'],
  ] as const) {
    const { status: code, stderr } = await runHere(args)
    expect({ args, code, stderr }).toEqual({ args, code: 2, stderr: expect.stringContaining(said) as string })
  }
})
