// Holds rules of docs/spec.md: R-SECRET-1, R-SECRET-2: secrets of known forms are taken out of what tools give.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactSecrets } from '../src/redact/secrets.ts'
import { BoundedOutput } from '../src/tools/bounded-output.ts'
import { drawn } from './support/deep.ts'

// Put together here, so that no scanner takes this file for one that has secrets.
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

/** What of a secret nobody may read: any run of so many characters of what was drawn. */
function isLeaked(text: string): boolean {
  const parts = [body, upper].flatMap((whole) =>
    Array.from({ length: whole.length - 7 }, (_, at) => whole.slice(at, at + 8)),
  )
  return parts.some((part) => text.includes(part))
}

test.each(secrets.map((secret) => [secret.slice(0, 24), secret] as const))(
  '%s… is taken out, wherever it stands',
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
    // A second time there is nothing left to do.
    expect(redactSecrets(redactSecrets(secret))).toBe(redactSecrets(secret))
  },
)

test('what is no secret stays as it is', () => {
  const harmless = [
    'const task = sk - 1; risk-based; disk-usage-report; https://example.com:8080/a@b',
    'git@github.com:a/b.git, http://localhost:3000, user@example.com',
    '0123456789abcdef0123456789abcdef01234567 is a commit, AKIA is a prefix',
    'npm_config_registry=x; the hf_ prefix; ghp is short; SGML. eyJhIjoxfQ',
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\nssh-rsa AAAAB3Nza',
  ]
  for (const text of harmless) expect(redactSecrets(text)).toBe(text)
})

test('the output of a command has none, however it comes in and wherever it is cut', () => {
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

test('it takes the time of its length', () => {
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
  expect(performance.now() - began).toBeLessThan(3_000)
})
