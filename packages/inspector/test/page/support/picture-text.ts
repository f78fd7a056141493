import type { PictureSource } from '../../../src/page/picture/picture.ts'

/** A picture in a test has the names of colours in place of colours. */
export const madeFrom: PictureSource = { color: (name) => name, pageTitle: 'a test', madeAt: '2026-11-23 14:05 (UTC)' }

const characters: { readonly [reference: string]: string } = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }

/** The readable texts of a picture, line by line, without tooltips. */
export function textsOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = '']) =>
    text.replaceAll(/&\w+;/g, (reference) => characters[reference] ?? reference),
  )
}
