// Holds a rule of docs/spec: R-PROV-19.
import { execFileSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import * as fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { withEnvironment } from '../../src/providers/scoped-environment.ts'

afterEach(() => {
  delete process.env['SCOPED_TEST']
})

test('a scope sees only its variables, and nothing outside sees them', async () => {
  process.env['SCOPED_TEST'] = 'outside'
  const inner = withEnvironment({ ONLY: 'one', NOT: undefined }, async () => {
    await setTimeout(1)
    return { ...process.env, has: ['ONLY' in process.env, 'NOT' in process.env, 'PATH' in process.env] }
  })
  expect(process.env['ONLY']).toBe(undefined)
  expect(process.env['SCOPED_TEST']).toBe('outside')
  expect(await inner).toEqual({ ONLY: 'one', has: [true, false, false] })
  expect(Object.keys(process.env)).not.toContain('ONLY')
})

test('a command started in a scope has its variables', () => {
  const { PATH } = process.env
  const printed = withEnvironment({ PATH, ONLY: 'one' }, () => execFileSync('env', { encoding: 'utf8' }))
  expect(printed.split('\n')).toContain('ONLY=one')
  expect(printed).not.toContain('HOME=')
})

test('setting and deleting variables affects the process as usual', () => {
  withEnvironment({ ONLY: 'one' }, () => undefined)
  process.env['SCOPED_TEST'] = 'a'
  process.env['SCOPED_TEST'] = 'b'
  expect(process.env['SCOPED_TEST']).toBe('b')
  delete process.env['SCOPED_TEST']
  expect('SCOPED_TEST' in process.env).toBe(false)
})

test('parallel and nested scopes have their own variables', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 }), async (values) => {
      const seen = await Promise.all(
        values.map((value) =>
          withEnvironment({ SCOPED_TEST: value }, async () => {
            const before = process.env['SCOPED_TEST']
            const within = await withEnvironment({ SCOPED_TEST: `${value}!` }, async () => {
              await Promise.resolve()
              return process.env['SCOPED_TEST']
            })
            return [before, within, process.env['SCOPED_TEST']]
          }),
        ),
      )
      expect(seen).toEqual(values.map((value) => [value, `${value}!`, value]))
    }),
  )
})

test("the process's own variables are seen with their latest values", () => {
  const env = { ...process.env }
  expect(withEnvironment(env, () => process.env['PATH'])).toBe(process.env['PATH'])
})
