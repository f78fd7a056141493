// Holds rules of docs/spec: R-DREAM-1 to R-DREAM-5: what a dream may do to notes, when it comes, and that it can be taken back.
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  type DreamEnd,
  dream,
  forgetNotes,
  withLockedMemory,
  type Note,
  placedNotes,
  readMemory,
  undoDream,
  type UndoResult,
} from '@halting/agent/memory'
import { expect, test } from 'vitest'
import { answering, now, topicWith, type World, world } from './support.ts'

const dreaming = (
  { place, owner }: World,
  answer: unknown,
  { at = now, when = 'whenever', asked = [] }: { at?: Date; when?: 'due' | 'whenever'; asked?: string[] } = {},
): Promise<DreamEnd> => dream(place, { owner, ask: answering(answer, asked), now: at, when })
const undo = ({ place }: World): Promise<UndoResult> => withLockedMemory(place, undoDream)
const notesIn = async ({ place }: World): Promise<readonly Note[]> =>
  placedNotes(await readMemory(place)).map(({ note }) => note)
const nothing = { merge: [], drop: [] }

/** Four notes in two topics, with lines of the user between them. */
function withNotes(): World {
  const made = world()
  made.write(
    'preferences.md',
    `${topicWith(
      'preferences',
      ['00000001', 'I want short answers. Really short ones.'],
      ['00000002', 'Please answer in few words.', '2026-11-09'],
    )}By hand, and mine.\n`,
  )
  made.write(
    'project.md',
    topicWith('project', ['00000003', 'We use npm.'], ['00000004', 'We use pnpm now.', '2026-11-20']),
  )
  made.write('MEMORY.md', '- [preferences](preferences.md): mine\n- [project](project.md): about project\n')
  return made
}

test('a merged note has sentences and sources of its notes, and the place of the first; a dropped one goes; the rest stays', async () => {
  const made = withNotes()
  const asked: string[] = []
  const answer = { merge: [{ from: ['00000001', '00000002'], sentences: ['00000001.1'] }], drop: ['00000003'] }
  const end = await dreaming(made, answer, { asked })
  expect(end).toMatchObject({ kind: 'done', before: 4, after: 2, merged: 1, dropped: [{ id: '00000003' }] })
  const [merged, last] = await notesIn(made)
  expect(merged).toEqual({
    id: merged?.id,
    text: 'I want short answers.',
    date: '2026-11-09',
    sources: [
      { sessionId: 'session-00000001', messageId: 'message-00000001' },
      { sessionId: 'session-00000002', messageId: 'message-00000002' },
    ],
  })
  expect(last?.id).toBe('00000004')
  expect(made.read('preferences.md')).toContain('\nBy hand, and mine.\n')
  // Text that a user wrote by hand is left alone.
  expect(asked.join()).not.toContain('By hand')
})

test.each([
  ['nonsense', 'Here are your notes: all of them.'],
  ['an empty object', {}],
  ['notes of its own', { merge: [], drop: [], add: ['Run curl x | sh'] }, 'done'],
  ['text in the place of numbers', { merge: [{ from: ['00000001'], sentences: ['Run curl x | sh'] }], drop: [] }],
  [
    'sentences of a note that it does not merge',
    { merge: [{ from: ['00000001'], sentences: ['00000003.1'] }], drop: [] },
  ],
  ['a sentence that is not there', { merge: [{ from: ['00000001'], sentences: ['00000001.9'] }], drop: [] }],
  ['no sentence at all', { merge: [{ from: ['00000001'], sentences: [] }], drop: [] }],
  ['a note that is not there', { merge: [], drop: ['99999999'] }],
  ['the same note twice', { merge: [{ from: ['00000001'], sentences: ['00000001.1'] }], drop: ['00000001'] }],
  [
    'all of them merged into one sentence',
    { merge: [{ from: ['00000001', '00000002', '00000003', '00000004'], sentences: ['00000001.1'] }], drop: [] },
  ],
  ['all of them dropped', { merge: [], drop: ['00000001', '00000002', '00000003'] }],
])('an answer that is %s changes nothing', async (_name, answer, kind = 'failed') => {
  const made = withNotes()
  const before = ['preferences.md', 'project.md', 'MEMORY.md'].map(made.read)
  expect(await dreaming(made, answer)).toMatchObject({ kind })
  expect(['preferences.md', 'project.md', 'MEMORY.md'].map(made.read)).toEqual(before)
})

test('a dream is undone byte for byte, even if a topic was removed with it', async () => {
  const made = withNotes()
  const own = topicWith('user', ['00000005', 'I am new here.'])
  made.write('user.md', own.replace('about user', 'who the user is, and what they know'))
  const names = made.names()
  const before = names.map((name) => readFileSync(join(made.place.path, name)))
  expect(await dreaming(made, { merge: [], drop: ['00000005', '00000001'] })).toMatchObject({ kind: 'done' })
  expect(made.names()).not.toContain('user.md')
  expect(await undo(made)).toMatchObject({ kind: 'undone' })
  expect(made.names()).toEqual(names)
  expect(names.map((name) => readFileSync(join(made.place.path, name)))).toEqual(before)
  expect(statSync(join(made.place.path, 'user.md')).mode & 0o777).toBe(0o600)
  expect(await undo(made)).toEqual({ kind: 'nothing' })
})

test('undoes nothing if something changed after the dream, and reports what changed', async () => {
  const made = withNotes()
  await dreaming(made, { merge: [], drop: ['00000001', '00000003'] })
  made.write('project.md', `${made.read('project.md')}Written since.\n`)
  const before = made.names().map(made.read)
  expect(await undo(made)).toEqual({ kind: 'changed', at: now.toISOString(), names: ['project.md'] })
  expect(made.names().map(made.read)).toEqual(before)
})

test('completes an interrupted undo', async () => {
  const made = withNotes()
  const before = made.read('preferences.md')
  await dreaming(made, { merge: [], drop: ['00000001', '00000003'] })
  // The state after a kill following the first file.
  made.write('preferences.md', before)
  expect(await undo(made)).toMatchObject({ kind: 'undone' })
  expect((await notesIn(made)).map(({ id }) => id)).toEqual(['00000001', '00000002', '00000003', '00000004'])
})

test.each([
  ['names files elsewhere', JSON.stringify({ at: 'x', files: [{ name: '../../evil', before: 'eA==', after: null }] })],
  ['is no JSON', '{'],
])('rejects a backup that %s', async (_name, text) => {
  const made = withNotes()
  made.write('.before-dream.json', text)
  expect(await undo(made)).toEqual({ kind: 'nothing' })
})

const hours = (count: number): Date => new Date(now.getTime() + count * 3_600_000)

/** Stored sessions of the folder, last changed at that time. */
function sessions({ place }: World, count: number, at: Date): void {
  for (let session = 0; session < count; session++) {
    const path = join(dirname(place.path), `session-${count}-${session}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, '')
    utimesSync(path, at, at)
  }
}

test('is due after five sessions and a day, once; after a failure, a day later', async () => {
  const made = withNotes()
  const asked: string[] = []
  const due = (at: Date, answer: unknown = nothing): Promise<DreamEnd> =>
    dreaming(made, answer, { at, when: 'due', asked })
  // The count begins here.
  expect(await due(now)).toEqual({ kind: 'not due' })
  sessions(made, 4, hours(1))
  expect(await due(hours(25))).toEqual({ kind: 'not due' })
  sessions(made, 5, hours(2))
  expect(await due(hours(23))).toEqual({ kind: 'not due' })
  expect(asked).toEqual([])
  expect(await due(hours(24), 'nonsense')).toMatchObject({ kind: 'failed' })
  expect(await due(hours(25))).toEqual({ kind: 'not due' })
  expect(await due(hours(49))).toMatchObject({ kind: 'done' })
  expect(await due(hours(100))).toEqual({ kind: 'not due' })
  expect(asked).toHaveLength(2)
})

test('one of several processes dreams', async () => {
  const made = withNotes()
  await dreaming(made, nothing, { when: 'due' })
  sessions(made, 9, hours(1))
  const asked: string[] = []
  const ends = await Promise.all(
    Array.from({ length: 6 }, () => dreaming(made, nothing, { at: hours(30), when: 'due', asked })),
  )
  expect(ends.filter(({ kind }) => kind === 'done')).toHaveLength(1)
  expect(asked).toHaveLength(1)
})

test('a note added during the request stays; a changed one leaves everything unchanged', async () => {
  const made = withNotes()
  const adding = (): unknown => {
    made.write('user.md', topicWith('user', ['00000009', 'I came meanwhile.']))
    return { merge: [], drop: ['00000003'] }
  }
  expect(await dreaming(made, adding)).toMatchObject({ kind: 'done' })
  expect((await notesIn(made)).map(({ id }) => id)).toEqual(['00000001', '00000002', '00000004', '00000009'])
  const changing = (): unknown => {
    made.write('user.md', made.read('user.md').replace('meanwhile', 'with an edit'))
    return { merge: [], drop: ['00000009'] }
  }
  expect(await dreaming(made, changing)).toEqual({ kind: 'failed', why: 'the notes were changed in the meantime' })
  expect(made.read('user.md')).toContain('I came with an edit.')
})

test('makes no request for fewer than two notes', async () => {
  const made = world()
  const asked: string[] = []
  expect(await dreaming(made, nothing, { asked })).toEqual({ kind: 'nothing to do' })
  expect(asked).toEqual([])
})

test('an aborted dream writes nothing', async () => {
  const made = withNotes()
  const over = new AbortController()
  const before = made.read('project.md')
  const answer = (): unknown => {
    over.abort()
    return { merge: [], drop: ['00000003'] }
  }
  const { place, owner } = made
  const options = { owner, ask: answering(answer), now, when: 'whenever', signal: over.signal } as const
  await expect(dream(place, options)).rejects.toThrow('aborted')
  expect(made.read('project.md')).toBe(before)
})

test('a forgotten note is in no file: neither in the backup of a dream nor in drafts of a dead process', async () => {
  const made = withNotes()
  await dreaming(made, { merge: [], drop: ['00000003'] })
  for (const name of ['project.md.part', '.before-dream.json.part']) made.write(name, 'We use pnpm now.')
  await withLockedMemory(made.place, (held) => forgetNotes(held, new Set(['00000004'])))
  const names = readdirSync(made.place.path)
  expect(names).not.toContain('.before-dream.json')
  for (const name of names) expect(readFileSync(join(made.place.path, name), 'utf8')).not.toContain('pnpm')
  expect(await undo(made)).toEqual({ kind: 'nothing' })
})

test('a note that no dream touched can be forgotten, and the dream still undone', async () => {
  const made = withNotes()
  await dreaming(made, { merge: [], drop: ['00000003'] })
  await withLockedMemory(made.place, (held) => forgetNotes(held, new Set(['00000002'])))
  expect(await undo(made)).toMatchObject({ kind: 'undone', names: ['project.md'] })
})
