import { createParser } from 'eventsource-parser'
import type { LiveMessage } from '../live/told-live.ts'

/** What a worker tells, as it comes; `onBytes` hears of whatever comes. Ends where the connection does; what it was cut for is nobody's affair: the journal is the truth. */
export async function* liveMessages(
  response: Response,
  onBytes: () => void = () => {},
): AsyncGenerator<LiveMessage, void, undefined> {
  if (response.body === null) return
  const completed: LiveMessage[] = []
  // A worker wrote it.
  const parser = createParser({ onEvent: ({ data }) => void completed.push(JSON.parse(data) as LiveMessage) })
  const decoder = new TextDecoder()
  try {
    onBytes()
    for await (const bytes of response.body) {
      onBytes()
      parser.feed(decoder.decode(bytes, { stream: true }))
      yield* completed.splice(0)
    }
  } catch {
    return
  }
}
