(() => {
  "use strict";
  // The status page asks for itself again and again while it is looked at, and keeps what was opened open. Where it must not change
  // under somebody's hands it says since when it has not.
  const patience = 8000;
  const shown = () => document.querySelector("main[data-refresh]");
  const tell = (text) => {
    const notice = document.getElementById("stale");
    if (!notice || notice.textContent === text) return; // a reader's voice says it once
    notice.textContent = text;
    notice.hidden = false;
  };
  const hold = (reason) => {
    const at = document.getElementById("at");
    tell("Not refreshed since " + (at ? at.dateTime.slice(11, 16) + " UTC" : "it was opened") + " while " + reason + ".");
  };
  const selecting = () => {
    const held = String(getSelection()) !== "";
    if (held) hold("text is selected");
    return held;
  };
  const choosing = () => {
    const chosen = shown().querySelector("input[type=checkbox]:checked") !== null;
    if (chosen) hold("events are chosen");
    return chosen;
  };
  // What has the focus, as a selector that finds it in the next page too; null for what the next page may not have.
  const selectorOf = (element) => {
    if (element.tagName === "SUMMARY" && element.parentElement.id) return "#" + CSS.escape(element.parentElement.id) + " > summary";
    if (element.tagName === "A") return "a[href='" + CSS.escape(element.getAttribute("href")) + "']";
    if (element.tagName === "INPUT") return null; // what is being typed stays
    return element.tagName === "BUTTON" ? ".tools form button" : null; // to log out
  };
  let busy = false;
  const refresh = async () => {
    if (busy || document.hidden || selecting() || choosing()) return;
    busy = true;
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: "text/html" }, credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(patience),
      });
      if (answer.status === 401) throw new Error("the login has ended, or the key has changed: reload the page");
      if (!answer.ok) throw new Error("the server answers " + answer.status);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = next.querySelector("main[data-refresh]");
      if (!fresh) throw new Error("the login has ended");
      if (selecting() || choosing()) return; // it began meanwhile
      const now = shown();
      for (const known of now.querySelectorAll("details[id]")) {
        const same = fresh.querySelector("#" + CSS.escape(known.id));
        if (same) same.open = known.open;
      }
      const focused = now.contains(document.activeElement) ? selectorOf(document.activeElement) : "";
      if (focused === null || (focused && !fresh.querySelector(focused))) return hold("the focus is on something that has changed");
      now.replaceWith(fresh);
      if (focused) document.querySelector(focused).focus({ preventScroll: true });
      document.title = next.title;
    } catch (error) {
      tell("Not up to date: " + (error.name === "TimeoutError" ? "no answer within " + patience / 1000 + " s" : error.message) + ".");
    } finally {
      busy = false;
    }
  };
  if (shown()) {
    setInterval(refresh, 1000 * Number(shown().dataset.refresh));
    document.addEventListener("visibilitychange", refresh); // who comes back sees what is, not what was
  }

  // What an action's answer says: ours is JSON, or one line of text; the host, or what stands before it, answers as it likes.
  const said = async (answer) => {
    const body = (await answer.text()).trim(), kind = answer.headers.get("Content-Type") || "";
    if (kind.startsWith("application/json")) {
      const result = JSON.parse(body);
      if (result.done || result.error) return result.done || result.error;
    }
    if (answer.status === 401) return "Nothing was done: the host does not accept this key.";
    const line = "the answer is " + answer.status + (kind.startsWith("text/plain") && body.length < 500 ? ": " + body : ", and not this app's");
    if (answer.status < 400 || answer.status >= 500) throw new Error(line);
    return "Nothing was done: " + line + ".";
  };

  // Under the Functions host the admin key travels in a header, which a form cannot send.
  const form = document.getElementById("hosted");
  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const key = document.getElementById("key");
    const says = document.getElementById("answer");
    const button = form.querySelector("button");
    button.disabled = true;
    let text, ok = false;
    try {
      const answer = await fetch(form.dataset.to, {
        method: "POST", body: new URLSearchParams(new FormData(form)), headers: { "x-functions-key": key.value }, redirect: "error",
      });
      text = await said(answer);
      ok = answer.ok;
    } catch (error) {
      text = "Nothing is known to be done: " + error.message + ".";
    }
    key.value = "";
    button.disabled = false;
    form.hidden = ok;
    says.textContent = text;
    says.className = "answer " + (ok ? "good" : "bad");
    says.hidden = false;
    (ok ? says : key).focus(); // the button that had the focus is gone
  });
})();
