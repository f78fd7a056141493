/**
 * Characters that are always a grapheme of their own, in any combination: printable ASCII, Latin, Cyrillic, punctuation, arrows, signs, boxes, kana,
 * CJK ideographs and Hangul syllables.
 */
const single =
  /^[\u0020-\u007E\u00A1-\u00AC\u00AE-\u02FF\u0400-\u0482\u048A-\u052F\u2010-\u2027\u2030-\u205E\u2190-\u23FF\u2500-\u25FF\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF\uAC00-\uD7A3]*$/

/** Replaces the library's segmenter in the bundle, which takes 60 ms to create: this one is created when a text needs it (spec R-TERM-13). */
export const lazySegmenter: { segment(text: string): Iterable<Intl.SegmentData> } = {
  segment(text) {
    if (single.test(text)) return Array.from(text, (segment, index) => ({ segment, index, input: text }))
    segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
    return segmenter.segment(text)
  },
}

let segmenter: Intl.Segmenter | undefined

/** Replaces the library's emoji pattern, which takes 10 ms to compile; most screens show no emoji (spec R-TERM-13). */
export const lazyEmoji: Pick<RegExp, 'test'> = {
  test(grapheme) {
    emoji ??= new RegExp(String.raw`^\p{RGI_Emoji}$`, 'v')
    return emoji.test(grapheme)
  },
}

let emoji: RegExp | undefined
