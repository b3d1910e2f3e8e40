/** The page's requests to the harness, and what the customer said and the harness does not have yet. */

/** Rejects with an Error that has `status`: 0 where there was no answer. */
export async function ask(method, path, body) {
  const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }
  const response = await fetch(`/api/${path}`, { method, ...(method === 'GET' ? {} : json) }).catch((error) => {
    throw Object.assign(error, { status: 0 })
  })
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status })
  return answer
}

/**
 * Messages on their way. Each has the id that the harness knows it by, so sending one again doubles nothing: one that meets no
 * answer stays here and is sent again when the connection is back.
 */
export function createOutbox({ sessionFor, refused, offline }) {
  let waiting = []
  let sending = null

  async function sendAll() {
    const next = () => waiting.find(({ sent }) => !sent)
    for (let message = next(); message !== undefined; message = next()) {
      try {
        if (message.session === null) {
          const session = await sessionFor()
          // All that was written into the same new conversation belongs to it.
          for (const each of waiting) each.session ??= session
        }
        await ask('POST', `sessions/${message.session}/messages`, { id: message.id, text: message.text })
        message.sent = true
      } catch ({ status }) {
        if (status === 0 || status >= 500) return offline()
        const unwanted = message
        waiting = waiting.filter((each) => each !== unwanted)
        refused(message)
      }
    }
  }

  return {
    add(text, session) {
      waiting.push({ id: `msg_${crypto.randomUUID()}`, text, session, sent: false })
    },
    /** Of one conversation, those that its view does not have yet; what it has is forgotten here. */
    of(session, there) {
      waiting = waiting.filter(({ id }) => !there.has(id))
      return waiting.filter((message) => message.session === session)
    },
    /** One at a time: those who call meanwhile get the sending that is under way. */
    send() {
      sending ??= sendAll().finally(() => (sending = null))
      return sending
    },
  }
}
