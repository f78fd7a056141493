/** In which row of the screen the region begins, counted from 0. The terminal says it where only it knows; what is drawn until the answer comes is reckoned in. */
export interface Place {
  readonly top: number | undefined
  /** The terminal was asked for the row of its cursor, which is in this row of the region. */
  asked(cursorRow: number): void
  answered(row: number): void
  /** So many lines were printed, and the region has so many rows in a terminal of so many. */
  drawn(printed: number, regionRows: number, rows: number): void
  known(top: number | undefined): void
}

type Move = (top: number) => number

export function regionPlace(): Place {
  let top: number | undefined
  let waiting: { readonly cursorRow: number; readonly moves: Move[] }[] = []
  return {
    get top() {
      return top
    },
    asked(cursorRow) {
      top = undefined
      waiting = [...waiting, { cursorRow, moves: [] }]
    },
    answered(row) {
      const [first, ...others] = waiting
      waiting = others
      // Where it was asked again, or is known otherwise by now, this is of before.
      if (first === undefined || others.length > 0 || top !== undefined) return
      top = first.moves.reduce((at, move) => move(at), Math.max(0, row - first.cursorRow))
    },
    drawn(printed, regionRows, rows) {
      const move: Move = (at) => Math.max(0, Math.min(at + printed, rows - Math.max(1, regionRows)))
      if (top !== undefined) top = move(top)
      else waiting.at(-1)?.moves.push(move)
    },
    known(at) {
      top = at
    },
  }
}
