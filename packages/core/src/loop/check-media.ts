import { after, type Eventually } from '../values/eventually.ts'
import { mediaProblem } from '../model/media/media-problem.ts'
import { mediaIn, type MediaPlace, type PlacedMedia } from '../model/media/places.ts'
import { isTooMuch, mediaDropped, noMedia, plusMedia, type MediaTotals } from '../model/media/too-much.ts'
import type { ModelMessage } from '../model/messages.ts'
import { noCount } from '../state/state.ts'
import { isOfPerson, type TranscriptEntry } from '../conversation/transcript.ts'
import { mediaErrorDraft } from '../run/pending-endings.ts'
import { ends, type Outcome } from '../run/outcome.ts'
import { isAsked, type Run } from '../run/run.ts'
import { mediaRemoved, olderMediaRemoved } from '../run/turn-texts.ts'

// Replaces images and documents that a service would refuse. Left in the conversation, they would cause every later request to be refused too.

/** The blocks that are replaced by notes before a request, as recorded. */
type MediaRemoval = {
  readonly removed: readonly { readonly note: string; readonly at: readonly MediaPlace[] }[]
  /** What is wrong with the person's latest media; null when the run continues. */
  readonly refused: string | null
}

/**
 * Replaces media that the service would refuse by notes. Returns an ending when the person just sent them: a person
 * expects an error then, not an answer without the media.
 */
export function checkMedia(run: Run): Eventually<Outcome | undefined> {
  const name = `media:${run.spent.request}`
  // A recorded removal is applied, whatever this version of the program would remove (spec R-RES-11).
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && isAsked(run)) return undefined
  const due = isRecorded ? nothingRemoved : removalDue(run)
  if (due === undefined) return undefined
  return after(
    run.step<MediaRemoval>(name, () => due),
    ({ value }) => enter(run, value),
  )
}

const nothingRemoved: MediaRemoval = Object.freeze({ removed: [], refused: null })

function enter(run: Run, { removed, refused }: MediaRemoval): Outcome | undefined {
  const counted = run.spent.counted.length
  // The token count is valid only while every message that it covers is unchanged.
  if (removed.some(({ at }) => at.some(([message = 0]) => message < counted))) run.update({ counted: noCount })
  for (const { note, at } of removed) run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note, at })
  return refused === null ? undefined : ends(mediaErrorDraft(refused))
}

function removalDue(run: Run): MediaRemoval | undefined {
  const { mediaLimits } = run.context
  const { problems, totals } = lookAtAdded(run) ?? lookAtAll(run)
  run.mediaSeen = { length: run.transcript.length, totals }
  if (problems.length === 0 && !isTooMuch(totals, mediaLimits)) return undefined
  const noted = new Map<string, MediaPlace[]>()
  for (const { placed, what } of problems)
    addTo(noted, mediaRemoved(isImage(placed) ? 'image' : 'document', what), placed.at)
  const refused = refusedOf(run, problems)
  if (refused === null) {
    const bad = new Set(problems.map(({ placed: { block } }) => block))
    const rest = allMedia(run.transcript.messages()).filter(({ block }) => !bad.has(block))
    for (const { why, at } of mediaDropped(rest, mediaLimits))
      for (const place of at) addTo(noted, olderMediaRemoved(why), place)
  }
  if (noted.size === 0) return undefined
  return { removed: [...noted].map(([note, at]) => ({ note, at })), refused }
}

function addTo(noted: Map<string, MediaPlace[]>, note: string, at: MediaPlace): void {
  const places = noted.get(note)
  if (places === undefined) noted.set(note, [at])
  else places.push(at)
}

function isImage({ block }: PlacedMedia): boolean {
  return block.type === 'image'
}

interface Look {
  readonly problems: readonly MediaProblem[]
  readonly totals: MediaTotals
}

interface MediaProblem {
  readonly placed: PlacedMedia
  readonly message: ModelMessage
  readonly what: string
}

/** Inspects only the entries added since the last scan; undefined if the conversation changed in other ways too. */
function lookAtAdded(run: Run): Look | undefined {
  const { mediaSeen: seen, transcript } = run
  if (seen === undefined || seen.length > transcript.length) return undefined
  const added = transcript.since(seen.length)
  if (added.some(({ kind }) => takesAway.has(kind))) return undefined
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
  return placed === undefined ? { problems: none, totals: seen.totals } : look(run, placed, seen.totals)
}

/** Entries that reduce what the model sees. */
const takesAway: ReadonlySet<TranscriptEntry['kind']> = new Set<TranscriptEntry['kind']>([
  'compact_boundary',
  'results_cleared',
  'media_removed',
])

const none: readonly never[] = Object.freeze([])

function lookAtAll(run: Run): Look {
  const placed: (readonly [ModelMessage, readonly PlacedMedia[]])[] = []
  for (const [index, message] of run.transcript.messages().entries()) {
    const media = mediaIn(message, index)
    if (media.length > 0) placed.push([message, media])
  }
  return look(run, placed, noMedia)
}

function look(
  { context: { mediaLimits } }: Run,
  messages: readonly (readonly [ModelMessage, readonly PlacedMedia[]])[],
  before: MediaTotals,
): Look {
  let totals = before
  const problems: MediaProblem[] = []
  for (const [message, media] of messages) {
    for (const placed of media) {
      totals = plusMedia(totals, placed.block, mediaLimits)
      // Media in assistant messages are not checked: they came from the model's own service.
      const what = message.role === 'user' ? mediaProblem(placed.block, mediaLimits) : undefined
      if (what !== undefined) problems.push({ placed, message, what })
    }
  }
  return { problems, totals }
}

function allMedia(messages: readonly ModelMessage[]): readonly PlacedMedia[] {
  return messages.flatMap((message, index) => mediaIn(message, index))
}

/** What is wrong with the media that the person sent since the last reply; null for media from elsewhere, or from before. */
function refusedOf(run: Run, problems: readonly MediaProblem[]): string | null {
  // During a wrap-up the ending is already decided.
  if (problems.length === 0 || run.spent.closing !== null) return null
  const said = saidSinceReply(run)
  const whats = problems.filter(({ message }) => said.has(message)).map(({ what }) => what)
  return whats.length === 0 ? null : [...new Set(whats)].slice(0, mostSentences).join(' ')
}

/** Maximum number of problems to list. */
const mostSentences = 3

function saidSinceReply({ transcript, startLength }: Run): ReadonlySet<ModelMessage> {
  const said = new Set<ModelMessage>()
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry: TranscriptEntry | undefined = transcript.at(index)
    if (entry?.kind === 'assistant') break
    if (entry?.kind === 'user' && isOfPerson(entry)) said.add(entry.message)
  }
  return said
}
