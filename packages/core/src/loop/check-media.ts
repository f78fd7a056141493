import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { mediaProblem } from '../model/media/media-problem.ts'
import { mediaIn, type MediaPlace, type PlacedMedia } from '../model/media/places.ts'
import { isTooMuch, mediaDropped, noMedia, plusMedia, type MediaTotals } from '../model/media/too-much.ts'
import type { ModelMessage } from '../model/messages.ts'
import { noCount } from '../state/state.ts'
import { isOfPerson, type TranscriptEntry } from '../conversation/transcript.ts'
import { mediaErrorEnding } from '../run/pending-endings.ts'
import { endWith, type Outcome } from '../run/outcome.ts'
import { isRequestRecorded, type Run } from '../run/run.ts'
import { mediaRemoved, olderMediaRemoved } from '../run/turn-texts.ts'

// Replaces images and documents that a service would refuse. If they stayed in the conversation, every later request would be refused too.

/** The blocks that are replaced by notes before a request, as recorded. */
type MediaRemoval = {
  readonly removed: readonly { readonly note: string; readonly at: readonly MediaPlace[] }[]
  /** The problem with the media that the person sent last; null when the run continues. */
  readonly refused: string | null
}

/**
 * Replaces media that the service would refuse by notes. Returns an ending when the person just sent the media: the
 * person then expects an error, not an answer without the media.
 */
export function checkMedia(run: Run): MaybePromise<Outcome | undefined> {
  const name = `media:${run.spent.request}`
  // A recorded removal is applied, even if this version of the program would remove other media (spec R-RES-11).
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && isRequestRecorded(run)) return undefined
  const removal = isRecorded ? nothingRemoved : removalDue(run)
  if (removal === undefined) return undefined
  return andThen(
    run.step<MediaRemoval>(name, () => removal),
    ({ value }) => applyRemoval(run, value),
  )
}

const nothingRemoved: MediaRemoval = Object.freeze({ removed: [], refused: null })

function applyRemoval(run: Run, { removed, refused }: MediaRemoval): Outcome | undefined {
  const counted = run.spent.counted.length
  // The token count is valid only as long as every message that it covers is unchanged.
  if (removed.some(({ at }) => at.some(([message = 0]) => message < counted))) run.update({ counted: noCount })
  for (const { note, at } of removed) run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note, at })
  return refused === null ? undefined : endWith(mediaErrorEnding(refused))
}

function removalDue(run: Run): MediaRemoval | undefined {
  const { mediaLimits } = run.context
  const { problems, totals } = scanAdded(run) ?? scanAll(run)
  run.scannedMedia = { length: run.transcript.length, totals }
  if (problems.length === 0 && !isTooMuch(totals, mediaLimits)) return undefined
  const placesByNote = new Map<string, MediaPlace[]>()
  for (const { placed, description } of problems)
    addTo(placesByNote, mediaRemoved(isImage(placed) ? 'image' : 'document', description), placed.at)
  const refused = refusalText(run, problems)
  if (refused === null) {
    const bad = new Set(problems.map(({ placed: { block } }) => block))
    const rest = allMedia(run.transcript.messages()).filter(({ block }) => !bad.has(block))
    for (const { why, at } of mediaDropped(rest, mediaLimits))
      for (const place of at) addTo(placesByNote, olderMediaRemoved(why), place)
  }
  if (placesByNote.size === 0) return undefined
  return { removed: [...placesByNote].map(([note, at]) => ({ note, at })), refused }
}

function addTo(placesByNote: Map<string, MediaPlace[]>, note: string, at: MediaPlace): void {
  const places = placesByNote.get(note)
  if (places === undefined) placesByNote.set(note, [at])
  else places.push(at)
}

function isImage({ block }: PlacedMedia): boolean {
  return block.type === 'image'
}

interface MediaScan {
  readonly problems: readonly MediaProblem[]
  readonly totals: MediaTotals
}

interface MediaProblem {
  readonly placed: PlacedMedia
  readonly message: ModelMessage
  readonly description: string
}

/** Inspects only the entries added since the last scan; undefined if the conversation changed in other ways too. */
function scanAdded(run: Run): MediaScan | undefined {
  const { scannedMedia: seen, transcript } = run
  if (seen === undefined || seen.length > transcript.length) return undefined
  const added = transcript.since(seen.length)
  if (added.some(({ kind }) => reducingEntries.has(kind))) return undefined
  let placed: (readonly [ModelMessage, readonly PlacedMedia[]])[] | undefined
  for (const entry of added) {
    if (entry.kind !== 'user' && entry.kind !== 'assistant') continue
    const { message } = entry
    if (mediaIn(message, 0).length === 0) continue
    // The message is in the conversation unchanged: user input is the same object as in the transcript.
    const index = entry.kind === 'assistant' ? -1 : transcript.messages().lastIndexOf(entry.message)
    if (index === -1) return undefined
    ;(placed ??= []).push([message, mediaIn(message, index)])
  }
  return placed === undefined ? { problems: none, totals: seen.totals } : scanMedia(run, placed, seen.totals)
}

/** Entry kinds that reduce what the model sees. */
const reducingEntries: ReadonlySet<TranscriptEntry['kind']> = new Set<TranscriptEntry['kind']>([
  'compact_boundary',
  'results_cleared',
  'media_removed',
])

const none: readonly never[] = Object.freeze([])

function scanAll(run: Run): MediaScan {
  const placed: (readonly [ModelMessage, readonly PlacedMedia[]])[] = []
  for (const [index, message] of run.transcript.messages().entries()) {
    const media = mediaIn(message, index)
    if (media.length > 0) placed.push([message, media])
  }
  return scanMedia(run, placed, noMedia)
}

function scanMedia(
  { context: { mediaLimits } }: Run,
  messages: readonly (readonly [ModelMessage, readonly PlacedMedia[]])[],
  before: MediaTotals,
): MediaScan {
  let totals = before
  const problems: MediaProblem[] = []
  for (const [message, media] of messages) {
    for (const placed of media) {
      totals = plusMedia(totals, placed.block, mediaLimits)
      // Media in assistant messages are not checked: they came from the model's own service.
      const description = message.role === 'user' ? mediaProblem(placed.block, mediaLimits) : undefined
      if (description !== undefined) problems.push({ placed, message, description })
    }
  }
  return { problems, totals }
}

function allMedia(messages: readonly ModelMessage[]): readonly PlacedMedia[] {
  return messages.flatMap((message, index) => mediaIn(message, index))
}

/** The problem with the media that the person sent since the last reply. Null if only older media, or media from another source, has a problem. */
function refusalText(run: Run, problems: readonly MediaProblem[]): string | null {
  // During a wrap-up the ending is already decided, so no media causes another ending.
  if (problems.length === 0 || run.spent.closing !== null) return null
  const personsMessages = personsMessagesSinceReply(run)
  const descriptions = problems
    .filter(({ message }) => personsMessages.has(message))
    .map(({ description }) => description)
  return descriptions.length === 0 ? null : [...new Set(descriptions)].slice(0, maxProblems).join(' ')
}

/** Maximum number of problems to list. */
const maxProblems = 3

function personsMessagesSinceReply({ transcript, startLength }: Run): ReadonlySet<ModelMessage> {
  const personsMessages = new Set<ModelMessage>()
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry: TranscriptEntry | undefined = transcript.at(index)
    if (entry?.kind === 'assistant') break
    if (entry?.kind === 'user' && isOfPerson(entry)) personsMessages.add(entry.message)
  }
  return personsMessages
}
