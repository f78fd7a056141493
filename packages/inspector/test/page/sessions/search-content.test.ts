import { describe, expect, it } from 'vitest'
import { excerptOf, searchContent, type SearchProgress } from '../../../src/page/sessions/search-content.ts'
import type { TranscriptPart } from '@halting/analysis/view'
import { rowWith } from '../support/rows.ts'

const answer = (text: string): TranscriptPart => ({ kind: 'answer', text })

/** A source over these transcripts: a list of parts for each run. */
function partsOf(transcripts: { readonly [key: string]: readonly (readonly TranscriptPart[])[] }) {
  return (key: string, run: number, from: number, count: number): Promise<readonly TranscriptPart[]> => {
    const parts = transcripts[key]?.[run]
    return parts === undefined ? Promise.reject(new Error('gone')) : Promise.resolve(parts.slice(from, from + count))
  }
}

describe('a content search', () => {
  const many = Array.from({ length: 450 }, (_, index) => answer(index === 430 ? 'a Needle here' : 'hay'))
  const parts = partsOf({ a: [[answer('hay')], many], b: [[answer('needle')]] })
  const rows = [rowWith({ key: 'a', runs: 2 }), rowWith({ key: 'gone' }), rowWith({ key: 'b' })]

  it('finds text in every run and every page of a transcript, and continues after one that cannot be read', async () => {
    const progress: SearchProgress[] = []
    const end = await searchContent(
      ' NEEDLE ',
      rows,
      parts,
      (each) => progress.push(each),
      new AbortController().signal,
    )
    expect(end).toEqual({
      text: 'NEEDLE',
      searched: 3,
      of: 3,
      unread: 1,
      hits: [
        { key: 'a', run: 1, part: 430, excerpt: 'a Needle here' },
        { key: 'b', run: 0, part: 0, excerpt: 'needle' },
      ],
    })
    expect(progress.map(({ searched }) => searched)).toEqual([1, 2, 3])
  })

  it('ends when it is stopped', async () => {
    const stop = new AbortController()
    const end = await searchContent('needle', rows, parts, () => stop.abort(), stop.signal)
    expect(end).toMatchObject({ searched: 1, of: 3 })
  })

  it('finds nothing for an empty query', async () => {
    const end = await searchContent('  ', rows, parts, () => {}, new AbortController().signal)
    expect(end).toEqual({ text: '', searched: 0, of: 3, hits: [], unread: 0 })
  })

  it('has at most three hits per session', async () => {
    const full = partsOf({ a: [Array.from({ length: 9 }, () => answer('needle'))] })
    const end = await searchContent('needle', [rowWith()], full, () => {}, new AbortController().signal)
    expect(end.hits).toHaveLength(3)
  })
})

describe('an excerpt', () => {
  it('is one line around the first match', () => {
    const text = `${'before '.repeat(20)}the\nneedle${' after'.repeat(40)}`
    const excerpt = excerptOf(answer(text), 'needle') ?? ''
    expect(excerpt).toMatch(/^….*the needle after.*…$/)
    expect(excerpt.length).toBeLessThan(200)
  })

  it('includes calls, their results and their agents', () => {
    const call: TranscriptPart = {
      kind: 'call',
      name: 'Bash',
      callId: 'c',
      input: '{}',
      result: 'out',
      isError: false,
      durationMs: 1,
      changes: [],
      agent: [answer('deep')],
    }
    expect(['bash', 'out', 'deep', 'nothing'].map((asked) => excerptOf(call, asked))).toEqual([
      'Bash',
      'out',
      'deep',
      undefined,
    ])
  })
})
