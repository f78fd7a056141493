import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { counted } from '@halting/analysis/words'
import type { TranscriptPart } from '@halting/analysis/view'
import { Busy, ErrorNote } from '../common/notes.tsx'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { Part } from './part.tsx'
import { pageSize, usePages, type Pages } from './transcript-pages.ts'
import { pictureOfTranscript, type PicturedTranscript } from './transcript-picture.ts'

interface TranscriptProps {
  readonly sessionKey: string
  /** Index of the run, from 0. */
  readonly run: number
  /** Number of parts. */
  readonly count: number
  /** Changes when the session changes. */
  readonly version: unknown
  /** Index of the selected part. */
  readonly chosen: number | null
  readonly onChoose: (part: number) => void
}

/** The transcript: pages around the selected part, with more loaded while scrolling. */
export function Transcript(props: TranscriptProps): JSX.Element {
  const { count, chosen, onChoose } = props
  const pages = usePages(props)
  const { from, to, parts, problem } = pages
  const { scroller, shownChoice, onScroll } = useScrollPosition(pages, count, chosen)
  if (count === 0) return <p class="soft">This run has no messages.</p>
  return (
    <>
      <PictureButtons
        name="transcript"
        pictureOf={() => pictureOfTranscript(visiblePartsOf(scroller.current, pages, count))}
      />
      <div ref={scroller} class="transcript" role="feed" aria-label="Transcript" tabIndex={0} onScroll={onScroll}>
        {problem === undefined ? null : <ErrorNote>{problem}</ErrorNote>}
        {from > 0 ? (
          <button type="button" onClick={pages.earlier}>
            Earlier: {counted(from)} more
          </button>
        ) : null}
        {parts.length === 0 && problem === undefined ? <Busy>Reading …</Busy> : null}
        {parts.map((part: TranscriptPart, index) => {
          const number = from + index
          return (
            <Part
              key={number}
              part={part}
              number={number}
              count={count}
              isChosen={number === chosen}
              onChoose={() => {
                shownChoice.current = number
                onChoose(number)
              }}
            />
          )
        })}
        {to < count ? (
          <button type="button" onClick={pages.later}>
            Later: {counted(count - to)} more (in pieces of {pageSize})
          </button>
        ) : null}
      </div>
    </>
  )
}

interface ScrollPosition {
  readonly scroller: { current: HTMLDivElement | null }
  /** The selected part that the view has scrolled to. */
  readonly shownChoice: { current: number | null }
  readonly onScroll: () => void
}

/** Scrolls to the selected part, keeps the visible parts in place when pages are added or removed, and loads pages at both ends. */
function useScrollPosition(pages: Pages, count: number, chosen: number | null): ScrollPosition {
  const { from, to, parts } = pages
  const scroller = useRef<HTMLDivElement>(null)
  // Position of the first visible part before pages were added or removed.
  const anchor = useRef<{ readonly part: string; readonly top: number } | null>(null)
  const shownChoice = useRef<number | null>(null)
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const target = chosen !== null && chosen !== shownChoice.current ? partElement(element, chosen) : null
    if (target !== null) {
      shownChoice.current = chosen
      // Does not use scrollIntoView, which would also scroll the page away from the timeline.
      const { top, bottom } = target.getBoundingClientRect()
      const box = element.getBoundingClientRect()
      if (top < box.top || bottom > box.bottom) element.scrollTop += top - box.top - 4
      return
    }
    const before = anchor.current
    const part = before === null ? null : partElement(element, Number(before.part))
    if (before !== null && part !== null) element.scrollTop += part.getBoundingClientRect().top - before.top
  }, [from, to, parts, chosen])
  useEffect(() => {
    if (chosen === null) shownChoice.current = null
  }, [chosen])
  const onScroll = (): void => {
    const element = scroller.current
    if (element === null) return
    const first = firstVisible(element)
    anchor.current =
      first === undefined ? null : { part: first.dataset['part'] ?? '', top: first.getBoundingClientRect().top }
    if (element.scrollTop < 200 && from > 0) pages.earlier()
    else if (element.scrollHeight - element.scrollTop - element.clientHeight < 200 && to < count) pages.later()
  }
  return { scroller, shownChoice, onScroll }
}

/** The visible parts, from the first one on, and which of them are unfolded. */
function visiblePartsOf(element: HTMLElement | null, { from, parts }: Pages, count: number): PicturedTranscript {
  const first = element === null ? undefined : firstVisible(element)
  const start = first === undefined ? from : Number(first.dataset['part'])
  return {
    parts: parts.slice(start - from),
    from: start,
    count,
    isOpen: (number) =>
      element !== null && partElement(element, number)?.querySelector(':scope > details[open]') !== null,
  }
}

function firstVisible(element: HTMLElement): HTMLElement | undefined {
  const { top } = element.getBoundingClientRect()
  return [...element.querySelectorAll<HTMLElement>(':scope > .part')].find(
    (each) => each.getBoundingClientRect().bottom > top,
  )
}

function partElement(within: HTMLElement, part: number): HTMLElement | null {
  return within.querySelector<HTMLElement>(`:scope > [data-part="${part}"]`)
}
