/**
 * Tells reasoning from text where a server writes both into the content, reasoning between `<think>` and `</think>`.
 *
 * A tag counts only where an answer can begin: at its start, or after reasoning has ended; later the same letters are text.
 * Letters that may still become a tag are held back until they are one or cannot be. Linear.
 */

const OPEN = '<think>'
const CLOSE = '</think>'

/** An answer that begins with more white space than this begins with text; the bound keeps holding back linear. */
const MOST_BLANKS = 1024

export interface Split {
  readonly reasoning: string
  readonly text: string
}

export class ThinkTags {
  /** `start`: text or a tag may follow; `inside`: reasoning until the tag; `text`: the rest is text. */
  #mode: 'start' | 'inside' | 'text' = 'start'
  #held = ''
  /** Blank lines between the tag and the answer belong to the tag. */
  #afterReasoning = false

  push(piece: string): Split {
    if (this.#mode === 'text') return { reasoning: '', text: piece }
    let rest = this.#held + piece
    let reasoning = ''
    this.#held = ''
    for (;;) {
      if (this.#mode === 'inside') {
        const close = rest.indexOf(CLOSE)
        if (close < 0) return { reasoning: reasoning + this.#hold(rest, CLOSE), text: '' }
        reasoning += rest.slice(0, close)
        rest = rest.slice(close + CLOSE.length)
        this.#mode = 'start'
        this.#afterReasoning = true
      }
      const begun = rest.trimStart()
      if (begun.startsWith(OPEN)) {
        rest = begun.slice(OPEN.length)
        this.#mode = 'inside'
      } else if (OPEN.startsWith(begun) && rest.length <= MOST_BLANKS) {
        this.#held = this.#afterReasoning ? begun : rest
        return { reasoning, text: '' }
      } else {
        this.#mode = 'text'
        return { reasoning, text: this.#afterReasoning ? begun : rest }
      }
    }
  }

  /** What was held back and became no tag. */
  end(): Split {
    const held = this.#held
    this.#held = ''
    return this.#mode === 'inside' ? { reasoning: held, text: '' } : { reasoning: '', text: held }
  }

  /** Gives a text without the part of its end that may begin the tag, and keeps that part. */
  #hold(text: string, tag: string): string {
    for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1) {
      if (!text.endsWith(tag.slice(0, length))) continue
      this.#held = text.slice(-length)
      return text.slice(0, -length)
    }
    return text
  }
}
