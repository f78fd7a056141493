// Holds R-SECRET-1c of docs/spec: all code that redacts texts knows the same forms of secrets.
import { secretForms } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { secretIn } from '../src/memory/secrets.ts'
import { redactSecrets } from '@halting/core/redact'

/** Assembled here, so that this file is not reported for secrets. */
const body = ['Ab3dEf6h', 'Ij9kLm2n', 'Op5qRs8t', 'Uv1wXy4z'].join('')
const samples: readonly string[] = [
  `sk-ant-api03-${body}`,
  `sk-proj-${body}`,
  `sk-${body}`,
  `gsk_${body}`,
  `xai-${body}`,
  `AIza${body}`,
  `hf_${body}`,
  `pplx-${body}`,
  `r8_${body}`,
  `AKIA${body.toUpperCase()}`,
  `ASIA${body.toUpperCase()}`,
  `ghp_${body}`,
  `gho_${body}`,
  `ghs_${body}`,
  `github_pat_${body}`,
  `glpat-${body}`,
  `npm_${body}`,
  `pypi-Ag${body}`,
  `dop_v1_${'0a1b2c3d'.repeat(4)}`,
  `hvs.${body}`,
  `hvb.${body}`,
  `xoxb-${body}`,
  `xapp-1-${body}`,
  `sk_live_${body}`,
  `rk_test_${body}`,
  `whsec_${body}`,
  `SG.${body.slice(0, 22)}.${body}`,
  `eyJhbGciOiJIUzI1NiJ9.${body}.${body}`,
]

const redactors: readonly (readonly [string, (text: string) => string])[] = [
  ['what tools show', redactSecrets],
  ['what is noted', (text) => (secretIn(text, {}) === undefined ? text : '')],
]

describe.each(redactors)('%s', (_whose, redact) => {
  test.each(samples)('contains no %s', (secret) => {
    for (const text of [secret, `key=${secret} is wrong`, `"${secret}"`, `(${secret})`])
      expect(redact(text)).not.toContain(secret.slice(0, 14))
  })
})

test('has a sample of every form of the list', () => {
  // At the bars outside parentheses.
  const forms = secretForms.split(/\|(?!(?:[^()]|\([^()]*\))*\))/)
  const unused = forms.filter((form) => !samples.some((sample) => new RegExp(`^(?:${form})$`).test(sample)))
  expect([unused, forms.length]).toEqual([[], 23])
})

test.each([
  'hvs.configuration_of_the_server',
  'sk-button-primary-large-rounded',
  'npm_config_cache',
  'pk_test_of_a_page',
])('tools show %s, which is code', (text) => {
  expect(redactSecrets(text)).toBe(text)
})
