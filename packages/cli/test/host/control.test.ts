// Rules: R-HOST-3.
import type { JsonObject } from '@halting/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Control, ControlError, type ServeRequest } from '../../src/host/control.ts'

function control(serve: ServeRequest = () => ({})) {
  const written: JsonObject[] = []
  const warnings: string[] = []
  const made = new Control({
    write: (message) => void written.push(message),
    serve,
    warn: (text) => void warnings.push(text),
  })
  return { control: made, written, warnings }
}

const byText = (one: unknown, other: unknown) => JSON.stringify(one).localeCompare(JSON.stringify(other))

const request = (id: unknown, fields: unknown) =>
  ({ type: 'control_request', request_id: id, request: fields }) as JsonObject

test('answers a request with its response and further fields', async () => {
  const { control: one, written } = control(({ subtype, fields }) => ({
    response: { subtype, mode: fields['mode'] ?? null },
    extraFields: { pending: [] },
  }))
  expect(one.receive(request('a', { subtype: 'set_permission_mode', mode: 'plan' }))).toBe(true)
  await one.allAnswered()
  expect(written).toEqual([
    {
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: 'a',
        response: { subtype: 'set_permission_mode', mode: 'plan' },
        pending: [],
      },
    },
  ])
})

test('writes a response without a body', async () => {
  const { control: one, written } = control()
  one.receive(request(7, { subtype: 'stop_task' }))
  await one.allAnswered()
  expect(written).toEqual([{ type: 'control_response', response: { subtype: 'success', request_id: 7 } }])
})

test('answers a request that throws, rejects or has no subtype with an error', async () => {
  const {
    control: one,
    written,
    warnings,
  } = control(({ subtype }) => {
    if (subtype === 'throws') throw new Error('thrown')
    return Promise.reject(new Error('rejected'))
  })
  one.receive(request('a', { subtype: 'throws' }))
  one.receive(request('b', { subtype: 'rejects' }))
  one.receive(request('c', {}))
  one.receive(request('d', 'interrupt'))
  one.receive({ type: 'control_request', request: { subtype: 'throws' } })
  await one.allAnswered()
  const errors = written.map(({ response }) => response as JsonObject)
  expect(errors.map(({ request_id: id, subtype, error }) => [id, subtype, error]).toSorted(byText)).toEqual([
    ['a', 'error', 'thrown'],
    ['b', 'error', 'rejected'],
    ['c', 'error', 'A control request needs a request with a subtype, such as {"subtype":"interrupt"}.'],
    ['d', 'error', 'A control request needs a request with a subtype, such as {"subtype":"interrupt"}.'],
  ])
  expect(warnings).toEqual(['ignored a control request without a request_id: it cannot be answered.'])
})

test('a slow request does not delay others, and can be cancelled', async () => {
  const { control: one, written } = control(({ subtype, signal }) =>
    subtype === 'slow'
      ? new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('taken back')))
        })
      : {},
  )
  one.receive(request('slow', { subtype: 'slow' }))
  one.receive(request('quick', { subtype: 'quick' }))
  await Promise.resolve()
  await Promise.resolve()
  expect(written).toEqual([{ type: 'control_response', response: { subtype: 'success', request_id: 'quick' } }])
  one.receive({ type: 'control_cancel_request', request_id: 'slow' })
  await one.allAnswered()
  expect(written.at(-1)).toEqual({
    type: 'control_response',
    response: { subtype: 'error', request_id: 'slow', error: 'taken back' },
  })
})

test('our request receives the response of the host, or its error', async () => {
  const { control: one, written } = control()
  const first = one.request({ subtype: 'can_use_tool' })
  const second = one.request({ subtype: 'hook_callback' })
  const third = one.request({ subtype: 'hook_callback' })
  const ids = written.map(({ request_id: id }) => id ?? null)
  expect(new Set(ids).size).toBe(3)
  one.receive({ type: 'control_response', response: { subtype: 'error', request_id: ids[1] ?? '', error: 'boom' } })
  one.receive({
    type: 'control_response',
    response: { subtype: 'success', request_id: ids[0] ?? '', response: { behavior: 'allow' } },
  })
  one.receive({ type: 'control_response', response: { subtype: 'success', request_id: ids[2] ?? '' } })
  expect(await first).toEqual({ behavior: 'allow' })
  await expect(second).rejects.toEqual(new ControlError('refused', 'boom'))
  expect(await third).toEqual({})
})

test('our request is cancelled by its signal, and a late response is ignored', async () => {
  const { control: one, written } = control()
  const controller = new AbortController()
  const asked = one.request({ subtype: 'can_use_tool' }, controller)
  const id = written[0]?.['request_id'] ?? ''
  controller.abort()
  await expect(asked).rejects.toMatchObject({ code: 'withdrawn' })
  expect(written.at(-1)).toEqual({ type: 'control_cancel_request', request_id: id })
  expect(one.receive({ type: 'control_response', response: { subtype: 'error', request_id: id, error: 'late' } })).toBe(
    true,
  )
  await expect(one.request({ subtype: 'x' }, controller)).rejects.toMatchObject({ code: 'withdrawn' })
  expect(written).toHaveLength(2)
})

test('when the host is gone, requests fail and no more are sent', async () => {
  const { control: one, written } = control()
  const asked = one.request({ subtype: 'can_use_tool' })
  one.disconnect('The host closed its side.')
  await expect(asked).rejects.toEqual(new ControlError('gone', 'The host closed its side.'))
  await expect(one.request({ subtype: 'can_use_tool' })).rejects.toMatchObject({ code: 'gone' })
  expect(written).toHaveLength(1)
})

test('survives any input, and answers every request with an id once', async () => {
  const word = fc.constantFrom('control_request', 'control_response', 'control_cancel_request', 'keep_alive', 'user')
  const line = fc.record(
    {
      type: fc.oneof(word, fc.jsonValue()),
      request_id: fc.oneof(fc.string(), fc.nat(), fc.jsonValue()),
      request: fc.oneof(fc.record({ subtype: fc.oneof(fc.string(), fc.jsonValue()) }), fc.jsonValue()),
      response: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
      const { control: one, written } = control()
      for (const given of lines) one.receive(given)
      await one.allAnswered()
      const wanted = lines.filter(
        ({ type, request_id: id }) => type === 'control_request' && (typeof id === 'string' || typeof id === 'number'),
      )
      const answered = written.map(({ response }) => (response as JsonObject)['request_id'])
      expect(answered.toSorted(byText)).toEqual(wanted.map(({ request_id: id }) => id).toSorted(byText))
    }),
  )
})
