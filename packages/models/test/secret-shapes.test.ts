// Tests R-SECRET-1c of docs/spec: errors of services recognize every pattern of the shared list.
import { secretForms } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { hasKeyPrefix, withoutKeys } from '../src/service/secret-shapes.ts'

/** Joined here, so that secret scanners do not report this file. */
const body = ['Ab3dEf6h', 'Ij9kLm2n', 'Op5qRs8t', 'Uv1wXy4z'].join('')
/** Of services other than model services: their errors may have such secrets, too. */
const beginnings = ['glpat-', 'npm_', 'pypi-Ag', 'xoxb-', 'xapp-1-', 'whsec_', 'gho_', 'hvb.', 'sk-', 'pk-lf-', 'hvs.']

test.each(beginnings)('redacts text that starts with %s', (beginning) => {
  const secret = beginning + body
  for (const text of [secret, `the key ${secret} is wrong`, `"${secret}"`])
    expect([withoutKeys(text).includes(body.slice(0, 14)), hasKeyPrefix(text)]).toEqual([false, true])
})

test('redacts every listed shape, however short it was cut', () => {
  const known = new RegExp(secretForms)
  for (const cut of [`sk-ant-${body.slice(0, 3)}`, `ghp_${body.slice(0, 4)}`, `glpat-${body.slice(0, 2)}`])
    expect([known.test(cut), withoutKeys(`${cut} …`)]).toEqual([true, '*** …'])
})

test.each(['claude-sonnet-4-5-20250929', 'gpt-5.1-codex', 'req_011CSHoEeqs5C35K2UUqR7Fy', 'npm_config_cache'])(
  'does not redact %s',
  (text) => {
    expect(hasKeyPrefix(text)).toBe(false)
  },
)
