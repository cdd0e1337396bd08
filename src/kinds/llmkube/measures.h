#pragma once

/* LLMKube's metrics about Models and InferenceServices, with its names and labels. */

struct scrape;
struct view;

void measures_model(const struct view *in, struct scrape *to);
void measures_inference_service(const struct view *in, struct scrape *to);
