import { textOf } from '@halting/core/adapters'
import type { ModelMessage } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { createBodies, releaseBody } from '../src/bytes/bodies.ts'
import type { Bodies } from '../src/bytes/bodies.ts'
import { Slab } from '../src/bytes/slab.ts'
import type { TurnKind, WireFormat } from '../src/bytes/wire-format.ts'

const plain: TurnKind = { opening: '', closing: '', merges: false, takesBreakpoint: false }

/** A format without turns: each word of a message becomes a value. */
function words(onRender: (message: ModelMessage) => void = () => {}): WireFormat {
  return {
    render(message) {
      onRender(message)
      const texts = textOf(message.content).split(' ').filter(Boolean)
      return { kind: plain, first: '', rest: texts.map((text) => JSON.stringify(text)).join(',') }
    },
  }
}

const said = (content: string): ModelMessage => ({ role: 'user', content })

function take(bodies: Bodies, messages: readonly ModelMessage[], head = '[', tail = ']'): string {
  const body = bodies(head, messages, tail)
  const text = Buffer.from(body).toString()
  releaseBody(body)
  return text
}

describe('a format with one value per message', () => {
  test('returns comma-separated values, and omits empty ones', () => {
    const bodies = createBodies(words())
    const messages: ModelMessage[] = []
    expect(take(bodies, messages)).toBe('[]')
    messages.push(said(' '), said('a b'))
    expect(take(bodies, messages)).toBe('["a","b"]')
    messages.push(said(''), said('c'), said(''))
    expect(take(bodies, messages)).toBe('["a","b","c"]')
    messages.push(said('é\u{1f600}'))
    expect(take(bodies, messages)).toBe('["a","b","c","é\u{1f600}"]')
  })

  test('may have values before the first message', () => {
    const bodies = createBodies(words())
    const messages = [said('a')]
    expect(take(bodies, messages, '{"m":["system"', '],"n":1}')).toBe('{"m":["system","a"],"n":1}')
    expect(take(bodies, [], '{"m":["system"', '],"n":1}')).toBe('{"m":["system"],"n":1}')
  })

  test('renders a message once, whatever lists contain it', () => {
    const rendered: string[] = []
    const bodies = createBodies(words(({ content }) => rendered.push(textOf(content))))
    const messages: ModelMessage[] = []
    for (const name of 'abcdef') {
      messages.push(said(name))
      take(bodies, messages)
    }
    const [a, b, c, d] = messages as [ModelMessage, ModelMessage, ModelMessage, ModelMessage]
    expect(take(bodies, [a, b, c])).toBe('["a","b","c"]')
    expect(take(bodies, [d, a, d])).toBe('["d","a","d"]')
    expect(take(bodies, [...messages, said('g')])).toBe('["a","b","c","d","e","f","g"]')
    expect(take(bodies, messages)).toBe('["a","b","c","d","e","f"]')
    expect(rendered).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  })

  test('distinguishes authors of the same content', () => {
    const content = [{ type: 'text', text: 'x' }] as const
    const bodies = createBodies({
      render: (message) => ({
        kind: plain,
        first: '',
        rest: JSON.stringify(message.role === 'user' ? 'user' : message.by),
      }),
    })
    const messages: ModelMessage[] = [
      { role: 'assistant', content, by: 'a' },
      { role: 'assistant', content, by: 'b' },
      { role: 'user', content },
      { role: 'assistant', content, by: 'a' },
    ]
    expect(take(bodies, messages)).toBe('["a","b","user","a"]')
    expect(take(bodies, messages)).toBe('["a","b","user","a"]')
  })
})

describe('a format with separators', () => {
  const upper: TurnKind = { ...plain }
  const format: WireFormat = {
    render: ({ content }) => {
      const text = textOf(content)
      return { kind: /[A-Z]/.test(text) ? upper : plain, first: '', rest: text && JSON.stringify(text) }
    },
    between: (before, after) => (before === plain && after === upper ? '0' : ''),
  }

  test('inserts them between neighbours, however the list grew, and not before the first', () => {
    const bodies = createBodies(format)
    const messages: ModelMessage[] = []
    const seen: string[] = []
    for (const next of ['A', 'b', '', 'C', 'D', 'e', 'f', 'G']) {
      messages.push(said(next))
      expect(take(bodies, messages)).toBe(take(createBodies(format), messages))
      seen.push(take(bodies, messages, seen.length % 2 === 0 ? '["s"' : '["other"'))
    }
    expect(seen.at(-1)).toBe('["other","A","b",0,"C","D","e","f",0,"G"]')
    // The same messages with other neighbours.
    const [a, b, , c] = messages as [ModelMessage, ModelMessage, ModelMessage, ModelMessage]
    expect(take(bodies, [c, b, a])).toBe('["C","b",0,"A"]')
    expect(take(bodies, [...messages.slice(0, 2), c, b])).toBe('["A","b",0,"C","b"]')
    expect(take(bodies, messages)).toBe('["A","b",0,"C","D","e","f",0,"G"]')
  })
})

describe('a changed list', () => {
  test('is rewritten from the first difference', () => {
    const bodies = createBodies(words())
    const messages = [said('a'), said('b'), said('c')]
    expect(take(bodies, messages)).toBe('["a","b","c"]')
    messages[0] = said('x')
    expect(take(bodies, messages)).toBe('["x","b","c"]')
    messages.length = 1
    expect(take(bodies, messages)).toBe('["x"]')
    messages.length = 0
    expect(take(bodies, messages)).toBe('[]')
  })
})

describe('a request body that is lent to the transport', () => {
  const grow = (isReleased: boolean): { bodies: Uint8Array[]; texts: string[] } => {
    const make = createBodies(words())
    const messages = [said('a'), said('b')]
    const bodies: Uint8Array[] = []
    const texts: string[] = []
    for (let turn = 0; turn < 50; turn++) {
      messages.push(said(`turn${turn}`))
      const body = make(turn % 3 === 0 ? '[' : `["other head ${turn}"`, messages, ']')
      bodies.push(body)
      texts.push(Buffer.from(body).toString())
      if (isReleased) releaseBody(body)
    }
    return { bodies, texts }
  }

  test('is never overwritten, even if the same list is requested again and grows', () => {
    const { bodies, texts } = grow(false)
    expect(bodies.map((body) => Buffer.from(body).toString())).toEqual(texts)
  })

  test('is replaced by the next one after its release', () => {
    const make = createBodies(words())
    const messages = [said('a'), said('b')]
    const first = make('[', messages, ']')
    releaseBody(first)
    messages.push(said('c'))
    const second = make('[', messages, ']')
    expect(second.buffer).toBe(first.buffer)
    // Releasing the first one again does not release the second.
    releaseBody(first)
    expect(make('[', messages, ']').buffer).not.toBe(second.buffer)
  })

  test('has the same content whether or not it is released', () => {
    expect(grow(true).texts).toEqual(grow(false).texts)
  })
})

describe('memory', () => {
  test('exceeds the written data by at most an eighth and a page', () => {
    const slab = new Slab()
    let written = ''
    for (let times = 0; times < 2_000; times++) {
      const text = 'a€é\u{1f600}'.repeat(times % 97)
      slab.write(text)
      written += text
      const { buffer } = slab.view(0, slab.length)
      expect(buffer.byteLength).toBeLessThanOrEqual((slab.length * 9) / 8 + 2 * 4_096)
    }
    expect(Buffer.from(slab.view(0, slab.length)).toString()).toBe(written)
  })

  test('is shared by forks of a list until they diverge', () => {
    const bodies = createBodies(words())
    const messages = [said('a'), said('b'), said('c')]
    const body = bodies('[', messages, ']')
    releaseBody(body)
    const fork = [...messages, said('d')]
    const forked = bodies('[', fork, ']')
    expect(forked.buffer).toBe(body.buffer)
    releaseBody(forked)
    messages.push(said('e'))
    expect(take(bodies, messages)).toBe('["a","b","c","e"]')
    expect(take(bodies, fork)).toBe('["a","b","c","d"]')
    messages.push(said('f'))
    expect(take(bodies, messages)).toBe('["a","b","c","e","f"]')
    expect(take(bodies, fork)).toBe('["a","b","c","d"]')
  })
})
