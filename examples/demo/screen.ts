/**
 * Writes to the terminal: lines with a label before them, and text that grows. Knows nothing of runs. Colours only where the
 * stream is a terminal and NO_COLOR is not set; words of a model never reach the terminal as control characters.
 */
import { styleText } from 'node:util'

type Style = 'bold' | 'dim' | 'cyan' | 'green' | 'yellow' | 'red'

export interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export interface Screen {
  /** A blank line, then a title. */
  title(text: string): void
  /** One line behind a label; `''` goes on below the label before it. */
  line(label: string, text: string, style?: Style): void
  /** Text that grows: the first piece stands behind the label, the next ones follow it. The next line ends it. */
  grow(label: string, text: string): void
  /** Ends a text that grows, so that others can write. */
  end(): void
}

const LABEL_WIDTH = 11

export function createScreen(output: Output, environment: Readonly<Record<string, string | undefined>>): Screen {
  const coloured = output.isTTY === true && (environment['NO_COLOR'] ?? '') === ''
  let growing = false

  function paint(style: Style, text: string): string {
    return coloured ? styleText(style, text, { validateStream: false }) : text
  }

  function end(): void {
    if (growing) output.write('\n')
    growing = false
  }

  return {
    end,
    title(text) {
      end()
      output.write(`\n${paint('bold', text)}\n`)
    },
    line(label, text, style) {
      end()
      const shown = withoutControls(text)
      output.write(`${paint('cyan', label.padEnd(LABEL_WIDTH))}${style === undefined ? shown : paint(style, shown)}\n`)
    },
    grow(label, text) {
      if (!growing) output.write(paint('cyan', label.padEnd(LABEL_WIDTH)))
      growing = true
      output.write(withoutControls(text))
    },
  }
}

/** Line breaks stay; escape sequences lose what makes them such. */
function withoutControls(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, '')
}
