// Holds rules of docs/spec: R-SECRET-1, R-SECRET-2: secrets of known forms are taken out of what tools give.
import * as fc from 'fast-check'
import { agentTool, type AnyTool, type ContentBlock, type Tool, type ToolContext, type ToolOutput } from '@halting/core'
import { isAgentTool } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { redactedTool, redactedTools } from '../src/redact/redacted-tools.ts'
import { redactSecrets } from '@halting/core/redact'
import { BoundedOutput } from '../src/tools/bounded-output.ts'
import { drawn } from './support/deep.ts'

// Assembled here, so that no scanner reports this file for secrets.
const nothing = String()
const body = 'Zq7Xw3Vt9Ls2Kd5Mf8Hj4Ng6Pb1Rc0Y'
const upper = 'Q7W3E9R2T5Y8U4I6'
const keyBody = Array.from({ length: 20 }, (_, line) => `${body}${body}`.slice(line)).join('\n')
const pem = (kind: string): string => `-----BEGIN ${kind}PRIVATE KEY-----\n${keyBody}\n-----END ${kind}PRIVATE KEY-----`
const secrets: readonly string[] = [
  `sk-${nothing}ant-api03-${body}-${body}`,
  `sk-${nothing}proj-${body}_${body}`,
  `sk-${body}${body}`,
  `AI${nothing}zaSy${body}`,
  `gs${nothing}k_${body}`,
  `AK${nothing}IA${upper}`,
  `gh${nothing}p_${body}abcd`,
  `github${nothing}_pat_${body}_${body}`,
  `gl${nothing}pat-${body}`,
  `xo${nothing}xb-1234567890-${body}`,
  `sk${nothing}_live_${body}`,
  `ey${nothing}JhbGciOiJIUzI1NiJ9.ey${nothing}J${body}.${body}`,
  pem(''),
  pem('RSA '),
  pem('OPENSSH '),
  `postgres://user:${body}@db.example.com:5432/app`,
  `Authorization: Bearer ${body}`,
  `aws_secret_access_key = ${body}${body}`,
  `"x-api-key": "${body}"`,
]

/** The part of a secret that must not be readable: any run of this many of its random characters. */
function isLeaked(text: string): boolean {
  const parts = [body, upper].flatMap((whole) =>
    Array.from({ length: whole.length - 7 }, (_, at) => whole.slice(at, at + 8)),
  )
  return parts.some((part) => text.includes(part))
}

test.each(secrets.map((secret) => [secret.slice(0, 24), secret] as const))(
  '%s… is removed anywhere',
  (_name, secret) => {
    for (const [before, after] of [
      ['', ''],
      ['token=', '\n'],
      ['"', '"'],
      ['before ', ' after'],
      ['\t1\u2192', ','],
    ]) {
      const shown = redactSecrets(`x ${before}${secret}${after} y`)
      expect(isLeaked(shown)).toBe(false)
      expect(shown).toContain('[REDACTED]')
      expect(shown.startsWith(`x ${before}`.trimEnd().slice(0, 4))).toBe(true)
      expect(shown.endsWith('y')).toBe(true)
    }
    // A second pass changes nothing.
    expect(redactSecrets(redactSecrets(secret))).toBe(redactSecrets(secret))
  },
)

test('leaves what is not a secret', () => {
  const harmless = [
    'const task = sk - 1; risk-based; disk-usage-report; https://example.com:8080/a@b',
    'git@github.com:a/b.git, http://localhost:3000, user@example.com',
    '0123456789abcdef0123456789abcdef01234567 is a commit, AKIA is a prefix',
    'npm_config_registry=x; the hf_ prefix; ghp is short; SGML. eyJhIjoxfQ',
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\nssh-rsa AAAAB3Nza',
  ]
  for (const text of harmless) expect(redactSecrets(text)).toBe(text)
})

test.each([
  ['an escape of JSON', '\\n'],
  ['a tab of JSON', '\\t'],
  ['a code of JSON', '\\u000a'],
  ['a code of an address', '%0A'],
  ['a colour', '\u001b[31m'],
  ['another colour', '\u001b[1;38;5;9m'],
])('removes a secret right after %s', (_name, before) => {
  for (const secret of secrets.slice(0, 12)) expect(isLeaked(redactSecrets(`a${before}${secret}`))).toBe(false)
})

test('removes an authorization of only letters', () => {
  for (const value of ['dXNlcjpwYXNz', 'abcdefghijklmnopqrst', 'QUJDRA=='])
    expect(redactSecrets(`Authorization: Basic ${value}\n`)).not.toContain(value)
})

test.each(['Authorization: Bearer ', 'x-api-key: ', 'aws_secret_access_key=', 'session_token='])(
  'removes a secret that %s names after an escape sequence',
  (name) => expect(isLeaked(redactSecrets(`a\\n${name}${body}`))).toBe(false),
)

const context = { callId: 'c', toolName: 'T', progress: () => undefined } as unknown as ToolContext
const toolThat = (execute: () => Promise<ToolOutput>): Tool => ({
  name: 'T',
  description: '',
  inputSchema: { type: 'object' },
  validate: () => ({ valid: true, input: {} }),
  readOnly: true,
  execute,
})
const secret = secrets[0] ?? ''

test('passes everything of the loop to its tool, including getters', async () => {
  class GetterContext {
    readonly callId = 'c'
    readonly #state = { agentId: 'main' }
    get state() {
      return this.#state
    }
    get rights() {
      return { tools: ['T'] }
    }
  }
  const found: unknown[] = []
  const tool = redactedTool(
    {
      ...toolThat(async () => ({ content: '' })),
      execute: (_input, { callId, state, rights }) => (found.push(callId, state, rights), ''),
    },
    redactSecrets,
  )
  await tool.execute({} as never, new GetterContext() as unknown as ToolContext)
  expect(found).toEqual(['c', { agentId: 'main' }, { tools: ['T'] }])
})

test('redacts the tools of agents on every level', async () => {
  const leaf = toolThat(async () => ({ content: `a ${secret} b` }))
  const inner = agentTool({ name: 'Inner', description: '', tools: [leaf] })
  const outer = agentTool({ name: 'Outer', description: '', tools: [inner, leaf] })
  const [redacted, plain] = redactedTools([outer, agentTool({ name: 'None', description: '' })], redactSecrets)
  const leavesOf = (tool: AnyTool | undefined): readonly AnyTool[] =>
    tool === undefined || !isAgentTool(tool) ? [] : (tool.tools ?? []).flatMap((each) => [each, ...leavesOf(each)])
  expect(leavesOf(redacted).map(({ name }) => name)).toEqual(['Inner', 'T', 'T'])
  for (const tool of leavesOf(redacted)) {
    if (isAgentTool(tool)) continue
    expect(await tool.execute({} as never, context)).toEqual({ content: 'a [REDACTED] b' })
  }
  expect(leavesOf(plain)).toEqual([])
})

test('redacts texts of documents and search results, and leaves bytes of images', async () => {
  const bytes = { type: 'base64', media_type: 'image/png', data: `AK${nothing}IA${upper}` }
  const content = [
    { type: 'document', title: secret, source: { type: 'text', media_type: 'text/plain', data: `a ${secret} b` } },
    { type: 'document', source: { type: 'content', content: [{ type: 'text', text: secret }] } },
    { type: 'search_result', title: 'x', source: 'y', content: [{ type: 'text', text: secret }] },
    { type: 'image', source: bytes },
    { type: 'document', source: { ...bytes, media_type: 'application/pdf' } },
  ]
  // Content as services accept it; the types cover a part of it.
  const tool = redactedTool(
    toolThat(async () => ({ content: content as unknown as ContentBlock[] })),
    redactSecrets,
  )
  const shown = (await tool.execute({} as never, context)) as ToolOutput
  const text = JSON.stringify(shown.content.slice(0, 3))
  expect([isLeaked(text), text.split('[REDACTED]').length]).toEqual([false, 5])
  expect(shown.content.slice(3)).toEqual(content.slice(3))
})

test('removes a key in the lines of a diff from what programs get', async () => {
  const lines = [
    '+a',
    ...pem('')
      .split('\n')
      .map((line) => ` ${line}`),
    '-b',
  ]
  const tool = redactedTool(
    toolThat(async () => ({ content: 'x', details: { structuredPatch: [{ oldStart: 1, lines }] } })),
    redactSecrets,
  )
  const { details } = (await tool.execute({} as never, context)) as ToolOutput
  const text = JSON.stringify(details)
  expect([isLeaked(text), text.includes('"+a"'), text.includes('"-b"')]).toEqual([false, true, true])
})

test.each([
  ['an abort', new DOMException(`ended: ${secret}`, 'AbortError')],
  ['a frozen error', Object.freeze(new TypeError(`ended: ${secret}`))],
  ['an error', new TypeError(`ended: ${secret}`)],
])('redacts the message of %s, which stays a message', async (_name, error) => {
  const tool = redactedTool(
    toolThat(() => Promise.reject(error)),
    redactSecrets,
  )
  const thrown = await Promise.resolve(tool.execute({} as never, context)).catch((each: unknown) => each)
  expect(thrown).toMatchObject({ name: error.name, message: 'ended: [REDACTED]' })
})

test('an abort without a secret is passed on unchanged', async () => {
  const error = new DOMException('ended', 'AbortError')
  const tool = redactedTool(
    toolThat(() => Promise.reject(error)),
    redactSecrets,
  )
  await expect(Promise.resolve(tool.execute({} as never, context))).rejects.toBe(error)
})

test('removes a secret in JSON within JSON', () => {
  for (const name of ['authorization', 'x-api-key', 'aws_secret_access_key']) {
    const value = name === 'authorization' ? `Bearer ${body}` : body
    const inner = JSON.stringify({ headers: { [name]: value } })
    expect(isLeaked(redactSecrets(inner))).toBe(false)
    expect(isLeaked(redactSecrets(JSON.stringify({ log: inner })))).toBe(false)
    expect(isLeaked(redactSecrets(JSON.stringify([JSON.stringify({ log: inner })])))).toBe(false)
  }
})

test('leaves code about secrets that contains none', () => {
  const code = [
    'pip install hf_transfer && from transformers import hf_tokenizer',
    'gsk_transform_translate (gsk_renderer_new (), gsk_roundedrect);',
    'apt install xapp-sn-watcher xapp-status-applet',
    'uses: pypa/pypi-publish-the-package@v1',
    'const scene = SG.createApplicationContext(root)',
    'WELCOME TO ASIAPACIFIC AND ASIATICA',
    'new Client({ credentials: { secretAccessKey: credentials.secretAccessKey, sessionToken: credentials.sessionToken } })',
    'session_token = request.cookies["session"]',
    "headers: { 'x-api-key': process.env.API_KEY, authorization: `Bearer ${token}` }",
    'Authorization: Basic authentication is not supported, use authorization: bearer tokens',
    "if (text.startsWith('-----BEGIN PRIVATE KEY-----')) return parse(text)\n\n".padEnd(2_000, 'function f() {}\n'),
  ]
  for (const text of code) expect(redactSecrets(text)).toBe(text)
})

test('removes a private key that is truncated after its beginning, in any form', () => {
  const lines = pem('RSA ').split('\n').slice(0, -1)
  const shown = [
    lines.join('\n'),
    lines.join('\r\n'),
    lines.join('\\n'),
    lines.map((line, number) => `${String(number + 1).padStart(6)}\u2192${line}`).join('\n'),
    lines.map((line, number) => `key.pem:${number + 1}:${line}`).join('\n'),
    lines.map((line) => `+${line}`).join('\n'),
    lines.map((line) => `    "${line}\\n" +`).join('\n'),
    [lines[0], 'Proc-Type: 4,ENCRYPTED', 'DEK-Info: AES-128-CBC,3F17F5316E2BAC89', '', ...lines.slice(1)].join('\n'),
  ]
  for (const text of shown) expect(isLeaked(redactSecrets(`x\n${text}`))).toBe(false)
})

test('redacts the output of a command, however it arrives and wherever it is truncated', () => {
  const filler = fc.string({ unit: fc.constantFrom('a', ' ', '\n', '=', ':', '/', '"'), maxLength: 400 })
  fc.assert(
    fc.property(
      filler,
      fc.constantFrom(...secrets),
      filler,
      fc.integer({ min: 1, max: 97 }),
      fc.integer({ min: 0, max: 3_000 }),
      (before, secret, after, size, limit) => {
        const output = new BoundedOutput(limit, redactSecrets)
        const text = `${before}\n${secret}\n${after}`
        for (let at = 0; at < text.length; at += size) output.append(text.slice(at, at + size))
        const shown = output.toString()
        expect(isLeaked(shown)).toBe(false)
        expect(shown.length).toBeLessThanOrEqual(limit)
      },
    ),
    { numRuns: drawn(2_000) },
  )
})

test('takes linear time', () => {
  const texts = [
    'eyJ'.repeat(200_000),
    'a://'.repeat(150_000),
    `-----BEGIN PRIVATE KEY-----${'A'.repeat(600_000)}`,
    'sk-ant-'.repeat(80_000),
    `${'A'.repeat(600_000)}-----END PRIVATE KEY-----`,
    'authorization: bearer '.repeat(30_000),
    '-----BEGIN PRIVATE KEY-----'.repeat(20_000),
  ]
  const began = performance.now()
  for (const text of texts) redactSecrets(text)
  expect(performance.now() - began).toBeLessThan(20_000)
})

test('output that cannot be redacted is withheld: both the text and the error', async () => {
  const broken = (text: string): string => {
    if (text.includes('secret')) throw new Error(`cannot read ${text}`)
    return text
  }
  const outputs: unknown[] = []
  const context = { progress: (data: unknown) => void outputs.push(data) } as unknown as ToolContext
  const made = (execute: () => unknown) =>
    redactedTool(
      { name: 'T', description: '', inputSchema: { type: 'object' }, readOnly: true, execute: execute as never },
      broken,
    )
  const progresses = made((...given: readonly unknown[]) => {
    ;(given[1] as ToolContext).progress({ line: 'a secret' })
    return {
      content: [
        { type: 'text', text: 'a secret' },
        { type: 'text', text: 'plain' },
      ],
      details: { raw: 'secret' },
    }
  })
  outputs.push(await progresses.execute({} as never, context))
  const throws = made(() => {
    throw new Error('no secret')
  })
  outputs.push(await Promise.resolve(throws.execute({} as never, context)).then(String, String))
  expect(JSON.stringify(outputs)).not.toContain('secret')
  expect(JSON.stringify(outputs)).toContain('plain')
  expect(JSON.stringify(outputs)).toContain('[REDACTED]')
})
