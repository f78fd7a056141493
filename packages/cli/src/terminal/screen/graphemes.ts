/**
 * Characters that are always one grapheme each, whichever of them stand beside one another: printable ASCII, Latin, Cyrillic, punctuation, arrows, signs, boxes, kana,
 * CJK ideographs and syllables of Hangul.
 */
const single =
  /^[\u0020-\u007E\u00A1-\u00AC\u00AE-\u02FF\u0400-\u0482\u048A-\u052F\u2010-\u2027\u2030-\u205E\u2190-\u23FF\u2500-\u25FF\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF\uAC00-\uD7A3]*$/

/** Takes the place of the library's segmenter in the bundle: that one takes 60 ms to be made, so it is made when a text needs it (spec R-TERM-13). */
export const lazySegmenter: { segment(text: string): Iterable<Intl.SegmentData> } = {
  segment(text) {
    if (single.test(text)) return Array.from(text, (segment, index) => ({ segment, index, input: text }))
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
    return segmenter.segment(text)
  },
}

let segmenter: Intl.Segmenter | undefined

/** Takes the place of the library's pattern there: to read the list of all emoji takes 10 ms, and most screens have none (spec R-TERM-13). */
export const lazyEmoji: Pick<RegExp, 'test'> = {
  test(grapheme) {
    emoji ??= new RegExp(String.raw`^\p{RGI_Emoji}$`, 'v')
    return emoji.test(grapheme)
  },
}

let emoji: RegExp | undefined
