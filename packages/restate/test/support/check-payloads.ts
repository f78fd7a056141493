import type { PayloadStores } from '../../src/payloads/payload-store.ts'

/** Checks what every payload store promises. Returns the problems. */
export async function checkPayloads(stores: PayloadStores): Promise<readonly string[]> {
  const problems: string[] = []
  const expect = (holds: boolean, promise: string): void => void (holds || problems.push(promise))
  const session = stores.of('A session/../of somebody')
  const other = stores.of('other')
  const texts = ['', 'small', 'ü€😀'.repeat(1000), 'large '.repeat(1_000_000)]
  const references = await Promise.all(texts.map((text) => session.put(text)))
  for (const [index, reference] of references.entries())
    expect((await session.get(reference)) === texts[index], `text ${index} comes back as it was put`)
  expect(new Set(references.map(({ sha256 }) => sha256)).size === texts.length, 'each text has a name of its own')
  const again = await Promise.all([1, 2, 3, 4].map(() => session.put('the same, at once')))
  expect(new Set(again.map(({ sha256 }) => sha256)).size === 1, 'the same text has the same name')
  const [first = { type: 'payload', sha256: '', bytes: 0 }] = again
  expect(await rejects(other.get(first)), 'a session does not see what another one put')
  await other.put('the same, at once')
  expect(await rejects(session.get({ ...first, bytes: 1 })), 'what is not what was put is refused')
  await session.remove()
  expect(await rejects(session.get(first)), 'what was removed is gone')
  expect((await other.get(first)) === 'the same, at once', 'another session keeps what it put')
  await session.remove()
  expect((await session.put('new')).bytes === 3, 'a session that was removed may begin anew')
  await Promise.all([session.remove(), other.remove()])
  return problems
}

async function rejects(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => false,
    (error: unknown) => error instanceof Error && 'code' in error && error.code === 'driver',
  )
}
